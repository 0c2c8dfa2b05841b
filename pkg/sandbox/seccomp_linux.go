package sandbox

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Offsets in struct seccomp_data of <linux/seccomp.h>. Both architectures are little endian, and
// the arguments we look at are all of type int: the kernel, too, looks at the lower half alone.
const (
	offsetNumber = 0
	offsetArch   = 4
	offsetArgs   = 16
)

// lastCall is the youngest system call this list has been checked against. What comes later does
// not exist for the program.
const lastCall = unix.SYS_RSEQ_SLICE_YIELD

// rule decides one system call. The body ends in a return on every path.
type rule struct {
	wall   string
	number uint32
	body   []bpf.Instruction
}

// program returns the seccomp program for the walls that stand.
func program(has func(wall string) bool) []bpf.Instruction {
	out := prologue(has)
	for _, r := range rules(has) {
		if !has(r.wall) {
			continue
		}
		out = append(out, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: r.number, SkipTrue: uint8(len(r.body))})
		out = append(out, r.body...)
	}
	return append(out, allow())
}

// prologue refuses other calling conventions, in which a number means another call, and leaves
// the number in the accumulator. Bodies load other things, but none of them falls through.
func prologue(has func(wall string) bool) []bpf.Instruction {
	var out []bpf.Instruction
	if has(wallArchitecture) {
		out = append(out,
			bpf.LoadAbsolute{Off: offsetArch, Size: 4},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: nativeArch, SkipTrue: 1}, kill())
	}
	out = append(out, bpf.LoadAbsolute{Off: offsetNumber, Size: 4})
	if has(wallArchitecture) && firstForeign != 0 {
		out = append(out,
			bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: firstForeign, SkipFalse: 1}, kill())
	}
	if has(wallNewCalls) {
		out = append(out,
			bpf.JumpIf{Cond: bpf.JumpGreaterThan, Val: lastCall, SkipFalse: 1}, refuse(unix.ENOSYS))
	}
	return out
}

func allow() bpf.Instruction { return bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW} }
func kill() bpf.Instruction  { return bpf.RetConstant{Val: unix.SECCOMP_RET_KILL_PROCESS} }
func hand() bpf.Instruction  { return bpf.RetConstant{Val: unix.SECCOMP_RET_USER_NOTIF} }
func refuse(e unix.Errno) bpf.Instruction {
	return bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(e)}
}

func load(arg int) bpf.Instruction {
	return bpf.LoadAbsolute{Off: uint32(offsetArgs + 8*arg), Size: 4}
}

// refuseBits refuses the call when any of bits is set in the argument.
func refuseBits(wall string, number uint32, arg int, bits uint32) rule {
	return rule{wall, number, []bpf.Instruction{
		load(arg),
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: bits, SkipFalse: 1}, refuse(unix.EPERM), allow(),
	}}
}

// refuseValues refuses the call when the argument is one of values.
func refuseValues(wall string, number uint32, arg int, values ...uint32) rule {
	body := []bpf.Instruction{load(arg)}
	for _, v := range values {
		body = append(body, bpf.JumpIf{Cond: bpf.JumpEqual, Val: v, SkipFalse: 1}, refuse(unix.EPERM))
	}
	return rule{wall, number, append(body, allow())}
}

// allowValue refuses the call unless the argument is value.
func allowValue(wall string, number uint32, arg int, value uint32) rule {
	return rule{wall, number, []bpf.Instruction{
		load(arg),
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: value, SkipFalse: 1}, allow(), refuse(unix.EPERM),
	}}
}

// install puts insns around this thread alone. The descriptor answers the calls that the program
// hands over; it is -1 when there are none.
func install(insns []bpf.Instruction, listen bool) (int, error) {
	raw, err := bpf.Assemble(insns)
	if err != nil {
		return -1, fmt.Errorf("assemble seccomp program: %w", err)
	}
	filter := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		filter[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if !listen {
		_, err := setFilter(&prog, 0)
		return -1, err
	}
	// With the second flag, from Linux 5.19 on, a signal does not interrupt a call that is being
	// answered.
	const flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER
	fd, err := setFilter(&prog, flags|unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
	if errors.Is(err, unix.EINVAL) {
		return setFilter(&prog, flags)
	}
	return fd, err
}

func setFilter(prog *unix.SockFprog, flags uintptr) (int, error) {
	fd, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(prog)))
	if e != 0 {
		return -1, fmt.Errorf("install seccomp program: %w", e)
	}
	return int(fd), nil
}

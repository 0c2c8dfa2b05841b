package sandbox

import (
	"encoding/binary"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// decide runs the seccomp program on one call, in the library's own machine.
func decide(t *testing.T, has func(string) bool, arch uint32, number uint32, args ...uint64) uint32 {
	t.Helper()
	vm, err := bpf.NewVM(program(has))
	check(t, err)
	// The machine reads words as a network does, the kernel as the processor does.
	data := make([]byte, 64)
	binary.BigEndian.PutUint32(data[offsetNumber:], number)
	binary.BigEndian.PutUint32(data[offsetArch:], arch)
	for i, a := range args {
		binary.BigEndian.PutUint32(data[offsetArgs+8*i:], uint32(a))
		binary.BigEndian.PutUint32(data[offsetArgs+8*i+4:], uint32(a>>32))
	}
	out, err := vm.Run(data)
	check(t, err)
	return uint32(out)
}

func every(string) bool { return true }

func errno(e unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(e) }

func TestCallsAreDecided(t *testing.T) {
	t.Parallel()
	const (
		allowed = unix.SECCOMP_RET_ALLOW
		killed  = unix.SECCOMP_RET_KILL_PROCESS
		handed  = unix.SECCOMP_RET_USER_NOTIF
		high    = 0xdead << 32 // the kernel does not look there
	)
	denied := errno(unix.EPERM)
	for _, test := range []struct {
		name   string
		number uint32
		args   []uint64
		want   uint32
	}{
		{"read", unix.SYS_READ, nil, allowed},
		{"openat", unix.SYS_OPENAT, nil, allowed},
		{"execve", unix.SYS_EXECVE, nil, allowed},
		{"newest", lastCall, nil, allowed},
		{"after_newest", lastCall + 1, nil, errno(unix.ENOSYS)},
		{"clone_thread", unix.SYS_CLONE, []uint64{unix.CLONE_VM | unix.CLONE_THREAD | unix.CLONE_SIGHAND}, allowed},
		{"clone_user", unix.SYS_CLONE, []uint64{unix.CLONE_NEWUSER | uint64(unix.SIGCHLD)}, denied},
		{"clone_mounts", unix.SYS_CLONE, []uint64{unix.CLONE_NEWNS}, denied},
		{"clone_cgroup", unix.SYS_CLONE, []uint64{unix.CLONE_NEWCGROUP}, denied},
		{"clone3", unix.SYS_CLONE3, nil, errno(unix.ENOSYS)},
		{"tcp", unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_STREAM}, handed},
		{"udp", unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_DGRAM}, handed},
		{"unix", unix.SYS_SOCKET, []uint64{unix.AF_UNIX, unix.SOCK_STREAM}, handed},
		{"connect", unix.SYS_CONNECT, nil, handed},
		{"bind", unix.SYS_BIND, nil, denied},
		{"listen", unix.SYS_LISTEN, nil, denied},
		{"accept", unix.SYS_ACCEPT, nil, denied},
		{"accept4", unix.SYS_ACCEPT4, nil, denied},
		{"pair", unix.SYS_SOCKETPAIR, []uint64{unix.AF_UNIX, unix.SOCK_STREAM | unix.SOCK_CLOEXEC}, allowed},
		{"pair_of_packets", unix.SYS_SOCKETPAIR, []uint64{unix.AF_UNIX, unix.SOCK_SEQPACKET}, allowed},
		{"pair_of_datagrams", unix.SYS_SOCKETPAIR, []uint64{unix.AF_UNIX, unix.SOCK_DGRAM | unix.SOCK_NONBLOCK}, denied},
		{"pair_of_raw", unix.SYS_SOCKETPAIR, []uint64{unix.AF_UNIX, unix.SOCK_RAW}, denied},
		{"pair_elsewhere", unix.SYS_SOCKETPAIR, []uint64{unix.AF_INET, unix.SOCK_STREAM}, errno(unix.EAFNOSUPPORT)},
		{"sendto", unix.SYS_SENDTO, []uint64{0, 0, 0, unix.MSG_NOSIGNAL}, allowed},
		{"sendto_fast_open", unix.SYS_SENDTO, []uint64{0, 0, 0, high | unix.MSG_FASTOPEN}, denied},
		{"sendmsg_fast_open", unix.SYS_SENDMSG, []uint64{0, 0, unix.MSG_FASTOPEN | unix.MSG_NOSIGNAL}, denied},
		{"sendmmsg_fast_open", unix.SYS_SENDMMSG, []uint64{0, 0, 0, unix.MSG_FASTOPEN}, denied},
		{"no_delay", unix.SYS_SETSOCKOPT, []uint64{0, unix.IPPROTO_TCP, unix.TCP_NODELAY}, allowed},
		{"same_number_elsewhere", unix.SYS_SETSOCKOPT, []uint64{0, unix.SOL_SOCKET, tcpULP}, allowed},
		{"fast_open", unix.SYS_SETSOCKOPT, []uint64{0, unix.IPPROTO_TCP, tcpFastOpen}, denied},
		{"fast_open_connect", unix.SYS_SETSOCKOPT, []uint64{0, unix.IPPROTO_TCP, tcpFastOpenConnect}, denied},
		{"upper_layer", unix.SYS_SETSOCKOPT, []uint64{0, high | unix.IPPROTO_TCP, high | tcpULP}, denied},
		{"repair", unix.SYS_SETSOCKOPT, []uint64{0, unix.IPPROTO_TCP, tcpRepair}, denied},
		{"ioctl", unix.SYS_IOCTL, []uint64{0, unix.TCGETS}, allowed},
		{"type_ahead", unix.SYS_IOCTL, []uint64{0, high | unix.TIOCSTI}, denied},
		{"console", unix.SYS_IOCTL, []uint64{0, ioctlTIOCLINUX}, denied},
		{"line_discipline", unix.SYS_IOCTL, []uint64{0, ioctlTIOCSETD}, denied},
		{"own_limits", unix.SYS_PRLIMIT64, []uint64{0}, allowed},
		{"limits_of_others", unix.SYS_PRLIMIT64, []uint64{1}, denied},
		{"which_personality", unix.SYS_PERSONALITY, []uint64{personalityQuery}, allowed},
		{"other_personality", unix.SYS_PERSONALITY, []uint64{0x0040000}, denied},
		{"filter", unix.SYS_SECCOMP, []uint64{unix.SECCOMP_SET_MODE_FILTER, 0}, allowed},
		{"listener", unix.SYS_SECCOMP, []uint64{unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_TSYNC}, denied},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := decide(t, every, nativeArch, test.number, test.args...); got != test.want {
				t.Errorf("the answer is %#x, want %#x", got, test.want)
			}
			if got := decide(t, every, unix.AUDIT_ARCH_I386, test.number, test.args...); got != killed {
				t.Errorf("in another convention the answer is %#x, want %#x", got, uint32(killed))
			}
			if firstForeign == 0 {
				return
			}
			if got := decide(t, every, nativeArch, firstForeign|test.number, test.args...); got != killed {
				t.Errorf("with foreign numbers the answer is %#x, want %#x", got, uint32(killed))
			}
		})
	}
}

// Every rule must be there for a reason: with its wall it refuses, without it the call passes.
func TestRefusedCallsDependOnTheirWall(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, r := range refused() {
		seen++
		if got := decide(t, every, nativeArch, r.number); got != errno(unix.EPERM) {
			t.Errorf("call %d is answered %#x", r.number, got)
		}
		without := func(wall string) bool { return wall != r.wall }
		if got := decide(t, without, nativeArch, r.number); got != unix.SECCOMP_RET_ALLOW {
			t.Errorf("without wall %q, call %d is answered %#x", r.wall, r.number, got)
		}
	}
	if seen < 50 {
		t.Errorf("only %d calls are refused", seen)
	}
}

// Where the kernel has no broker, TCP is made by the program itself and the rest refused at once.
func TestSocketsWithoutBroker(t *testing.T) {
	t.Parallel()
	has := func(wall string) bool { return wall != wallBroker }
	for _, test := range []struct {
		name   string
		number uint32
		args   []uint64
		want   uint32
	}{
		{"tcp", unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_STREAM | unix.SOCK_CLOEXEC, unix.IPPROTO_TCP}, unix.SECCOMP_RET_ALLOW},
		{"tcp6", unix.SYS_SOCKET, []uint64{unix.AF_INET6, unix.SOCK_STREAM}, unix.SECCOMP_RET_ALLOW},
		{"mptcp", unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP}, errno(unix.EPERM)},
		{"udp", unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_DGRAM}, errno(unix.EPERM)},
		{"unix", unix.SYS_SOCKET, []uint64{unix.AF_UNIX, unix.SOCK_STREAM}, errno(unix.EPERM)},
		{"netlink", unix.SYS_SOCKET, []uint64{unix.AF_NETLINK, unix.SOCK_RAW}, errno(unix.EPERM)},
		{"connect", unix.SYS_CONNECT, nil, unix.SECCOMP_RET_ALLOW},
		{"listen", unix.SYS_LISTEN, nil, errno(unix.EPERM)},
	} {
		if got := decide(t, has, nativeArch, test.number, test.args...); got != test.want {
			t.Errorf("%s: the answer is %#x, want %#x", test.name, got, test.want)
		}
	}
}

package sandbox

import (
	"slices"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Values that x/sys does not have, or not on every architecture.
const (
	ioctlTIOCLINUX = 0x541c // <asm-generic/ioctls.h>
	ioctlTIOCSETD  = 0x5423

	tcpRepair          = 19 // <linux/tcp.h>
	tcpFastOpen        = 23
	tcpFastOpenConnect = 30
	tcpULP             = 31

	// cloneNamespaces is every CLONE_NEW* that clone(2) takes; CLONE_NEWTIME is for clone3 alone.
	cloneNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
		unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

	// typeMask is SOCK_TYPE_MASK of <linux/net.h>: the rest of a socket's type are flags.
	typeMask = 0xf

	personalityQuery = 0xffffffff
)

func rules(has func(wall string) bool) []rule {
	return slices.Concat(refused(), conditional(), socketRules(has))
}

// refused are the calls that no review needs.
func refused() []rule {
	var out []rule
	for _, g := range []struct {
		wall    string
		numbers []uint32
	}{
		{wallTrace, []uint32{
			unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD,
			unix.SYS_KCMP, unix.SYS_PROCESS_MADVISE, unix.SYS_PROCESS_MRELEASE, unix.SYS_PERF_EVENT_OPEN,
			unix.SYS_MOVE_PAGES, unix.SYS_MIGRATE_PAGES,
		}},
		{wallKernel, append(archRefused(),
			unix.SYS_BPF, unix.SYS_USERFAULTFD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
			unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF,
			unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_SYSLOG, unix.SYS_LOOKUP_DCOOKIE,
			unix.SYS_NFSSERVCTL, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_SETHOSTNAME,
			unix.SYS_SETDOMAINNAME, unix.SYS_VHANGUP, unix.SYS_FANOTIFY_INIT,
		)},
		{wallKeys, []uint32{unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY}},
		{wallNamespaces, []uint32{unix.SYS_UNSHARE, unix.SYS_SETNS}},
		{wallMounts, []uint32{
			unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_OPEN_TREE,
			unix.SYS_OPEN_TREE_ATTR, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN, unix.SYS_FSMOUNT, unix.SYS_FSCONFIG,
			unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_STATMOUNT, unix.SYS_LISTMOUNT, unix.SYS_LISTNS,
			unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_OPEN_BY_HANDLE_AT,
		}},
		// These make objects that stay when the last process is gone, and that any process of the
		// same user can open.
		{wallIPC, []uint32{unix.SYS_SHMGET, unix.SYS_MSGGET, unix.SYS_SEMGET, unix.SYS_MQ_OPEN}},
		{wallIOURing, []uint32{unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER}},
	} {
		for _, n := range g.numbers {
			out = append(out, rule{g.wall, n, []bpf.Instruction{refuse(unix.EPERM)}})
		}
	}
	return out
}

// conditional are the calls that depend on an argument.
func conditional() []rule {
	return []rule{
		// The flags of clone3 lie in memory, where they can change after they were looked at. C
		// libraries fall back to clone.
		{wallNamespaces, unix.SYS_CLONE3, []bpf.Instruction{refuse(unix.ENOSYS)}},
		refuseBits(wallNamespaces, unix.SYS_CLONE, 0, cloneNamespaces),
		allowValue(wallTrace, unix.SYS_PRLIMIT64, 0, 0),
		allowValue(wallKernel, unix.SYS_PERSONALITY, 0, personalityQuery),
		refuseValues(wallTerminal, unix.SYS_IOCTL, 1, unix.TIOCSTI, ioctlTIOCLINUX, ioctlTIOCSETD),
		// Of two listeners the younger would be asked, and could answer "go on". The kernel
		// refuses a second one, but as a matter of bookkeeping, not as a promise.
		refuseBits(wallListener, unix.SYS_SECCOMP, 1, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER),
		// A message with MSG_FASTOPEN connects, and Landlock does not look at it.
		refuseBits(wallFastOpen, unix.SYS_SENDTO, 3, unix.MSG_FASTOPEN),
		refuseBits(wallFastOpen, unix.SYS_SENDMSG, 2, unix.MSG_FASTOPEN),
		refuseBits(wallFastOpen, unix.SYS_SENDMMSG, 3, unix.MSG_FASTOPEN),
		{wallFastOpen, unix.SYS_SETSOCKOPT, []bpf.Instruction{
			load(1),
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.IPPROTO_TCP, SkipTrue: 1}, allow(),
			load(2),
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: tcpFastOpen, SkipTrue: 4},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: tcpFastOpenConnect, SkipTrue: 3},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: tcpULP, SkipTrue: 2},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: tcpRepair, SkipTrue: 1},
			allow(), refuse(unix.EPERM),
		}},
	}
}

func socketRules(has func(wall string) bool) []rule {
	out := []rule{
		// The datagrams of a pair can be sent to any named socket there is. Streams cannot.
		{wallSockets, unix.SYS_SOCKETPAIR, []bpf.Instruction{
			load(0), bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_UNIX, SkipTrue: 1}, refuse(unix.EAFNOSUPPORT),
			load(1), bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: typeMask},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SOCK_STREAM, SkipTrue: 2},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SOCK_SEQPACKET, SkipTrue: 1},
			refuse(unix.EPERM), allow(),
		}},
		// In the broker's jail, connect is answered and never made: there is no address to read.
		{wallBroker, unix.SYS_CONNECT, []bpf.Instruction{hand()}},
		socketRule(has),
	}
	for _, n := range []uint32{unix.SYS_BIND, unix.SYS_LISTEN, unix.SYS_ACCEPT, unix.SYS_ACCEPT4} {
		out = append(out, rule{wallSockets, n, []bpf.Instruction{refuse(unix.EPERM)}})
	}
	return out
}

// socketRule lets TCP pass to the broker and nothing else through. The broker is asked of the
// rest too, so that it can count it.
func socketRule(has func(wall string) bool) rule {
	wall, tcp, other := wallSockets, allow(), refuse(unix.EPERM)
	if has(wallBroker) {
		wall, tcp, other = wallBroker, hand(), hand()
	}
	if !has(wallSockets) {
		other = allow()
	}
	return rule{wall, unix.SYS_SOCKET, []bpf.Instruction{
		load(0),
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_INET, SkipTrue: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_INET6, SkipTrue: 1},
		other,
		load(1), bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: typeMask},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SOCK_STREAM, SkipTrue: 1},
		other,
		load(2),
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.IPPROTO_TCP, SkipTrue: 1},
		other,
		tcp,
	}}
}

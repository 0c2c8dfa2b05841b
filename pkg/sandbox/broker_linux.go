package sandbox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"runtime"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// broker answers the calls socket and connect of a jail. A TCP socket is one end of a connection
// that the broker has already made to itself; the other end it joins to the gateway once the
// first byte arrives. So there is nothing left to connect: connect is answered with success and
// never made, no memory of the program is read, and nothing can change between a look and an act.
// The end that stays here tells when the program has closed its own, which is what makes the cap
// hold.
type broker struct {
	gateway  string
	listener *net.TCPListener
	// slots holds a value for each open socket. nil means no cap.
	slots chan struct{}

	mu     sync.Mutex
	counts Sockets
}

// notification, response and addition are struct seccomp_notif, seccomp_notif_resp and
// seccomp_notif_addfd of <linux/seccomp.h>.
type notification struct {
	id     uint64
	pid    uint32
	flags  uint32
	number int32
	arch   uint32
	ip     uint64
	args   [6]uint64
}

type response struct {
	id    uint64
	value int64
	errno int32
	flags uint32
}

type addition struct {
	id                          uint64
	flags, source, target, mode uint32
}

func newBroker(gateway string, most int, capped bool) (*broker, error) {
	// No keep-alive: the other end is on this machine, and it would cost more calls than the rest.
	config := net.ListenConfig{KeepAlive: -1}
	l, err := config.Listen(context.Background(), "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the jail's sockets: %w", err)
	}
	b := &broker{gateway: gateway, listener: l.(*net.TCPListener), counts: Sockets{Denied: map[string]int{}}}
	if capped {
		b.slots = make(chan struct{}, most)
	}
	return b, nil
}

// serve answers what arrives at listener, until no process is left that could ask.
func (b *broker) serve(listener int) {
	// The runtime interrupts its threads by signals. Where one interrupts the kernel as it hands
	// a descriptor over, the program is told 0, which is its input: seen on Linux 6.18.
	runtime.LockOSThread()
	// Without the listener, the kernel itself answers whoever asks with an error.
	defer unix.Close(listener)
	if err := blockSignals(); err != nil {
		return
	}
	// From Linux 6.6 on, the answering thread then takes the asking one's place on its processor.
	// Elsewhere it fails and nothing is lost but a little time.
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_SET_FLAGS, unix.SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP)
	for {
		var n notification
		switch err := ioctl(listener, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)); {
		case err == nil:
			b.answer(listener, n)
		case errors.Is(err, unix.ENOENT) && !hungUp(listener):
			// Whoever asked was killed, or interrupted by a signal and will ask again.
		default:
			return
		}
	}
}

func blockSignals() error {
	var all unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	return unix.PthreadSigmask(unix.SIG_SETMASK, &all, nil)
}

func hungUp(fd int) bool {
	poll := []unix.PollFd{{Fd: int32(fd)}}
	_, err := unix.Poll(poll, 0)
	return err == nil && poll[0].Revents&unix.POLLHUP != 0
}

func (b *broker) answer(listener int, n notification) {
	var err error
	if n.number == unix.SYS_CONNECT {
		b.count(func(s *Sockets) { s.Connects++ })
	} else {
		var handed bool
		if handed, err = b.socket(listener, n); handed {
			return
		}
	}
	r := response{id: n.id}
	if e := unix.Errno(0); errors.As(err, &e) {
		r.errno = -int32(e)
	} else if err != nil {
		r.errno = -int32(unix.ECONNREFUSED)
	}
	// It fails when whoever asked is gone.
	_ = ioctl(listener, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r))
}

// socket hands a socket over, which is an answer, or returns the error to answer with.
func (b *broker) socket(listener int, n notification) (handed bool, err error) {
	domain, kind, protocol := int(int32(n.args[0])), int(int32(n.args[1])), int(int32(n.args[2]))
	if name, err := denial(domain, kind&typeMask, protocol); err != nil {
		b.count(func(s *Sockets) { s.Denied[name]++ })
		return false, err
	}
	if !b.acquire() {
		b.count(func(s *Sockets) { s.OverCap++ })
		return false, unix.EMFILE
	}
	fd, here, err := b.pair(domain)
	if err != nil {
		b.release()
		return false, err
	}
	// It ends with the connection, or with the warden, which outlives the program by no more than
	// its last message.
	go func() {
		defer b.release()
		b.join(here)
	}()
	// From here on this process keeps no descriptor of that end: when the program closes its
	// last one, or never got it, join sees the end of the stream.
	defer unix.Close(fd)
	if err := addSocket(listener, n, fd, kind); err != nil {
		return false, err
	}
	b.count(func(s *Sockets) { s.Brokered++ })
	return true, nil
}

func addSocket(listener int, n notification, fd, kind int) error {
	if kind&unix.SOCK_NONBLOCK == 0 {
		if err := unix.SetNonblock(fd, false); err != nil {
			return err
		}
	}
	a := addition{id: n.id, flags: unix.SECCOMP_ADDFD_FLAG_SEND, source: uint32(fd)}
	if kind&unix.SOCK_CLOEXEC != 0 {
		a.mode = unix.O_CLOEXEC
	}
	return ioctl(listener, unix.SECCOMP_IOCTL_NOTIF_ADDFD, unsafe.Pointer(&a))
}

// denial names what is asked for when it is not TCP, and the error to answer with.
func denial(domain, kind, protocol int) (string, error) {
	switch domain {
	case unix.AF_INET, unix.AF_INET6:
	case unix.AF_UNIX:
		return "unix", unix.EAFNOSUPPORT
	case unix.AF_NETLINK:
		return "netlink", unix.EAFNOSUPPORT
	case unix.AF_PACKET:
		return "packet", unix.EAFNOSUPPORT
	case unix.AF_VSOCK:
		return "vsock", unix.EAFNOSUPPORT
	default:
		return "family", unix.EAFNOSUPPORT
	}
	switch {
	case protocol == unix.IPPROTO_ICMP, protocol == unix.IPPROTO_ICMPV6:
		return "icmp", unix.EPERM
	case kind == unix.SOCK_DGRAM:
		return "udp", unix.EPERM
	case kind == unix.SOCK_RAW:
		return "raw", unix.EPERM
	case protocol == unix.IPPROTO_MPTCP:
		return "mptcp", unix.EPERM
	case kind != unix.SOCK_STREAM, protocol != 0 && protocol != unix.IPPROTO_TCP:
		return "protocol", unix.EPERM
	}
	return "", nil
}

func (b *broker) acquire() bool {
	if b.slots == nil {
		return true
	}
	select {
	case b.slots <- struct{}{}:
		return true
	default:
		return false
	}
}

func (b *broker) release() {
	if b.slots != nil {
		<-b.slots
	}
}

func (b *broker) count(add func(*Sockets)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	add(&b.counts)
}

func (b *broker) sockets() Sockets {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.counts
	s.Denied = maps.Clone(s.Denied)
	return s
}

func ioctl(fd int, request uintptr, arg unsafe.Pointer) error {
	_, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(arg))
	if e != 0 {
		return e
	}
	return nil
}

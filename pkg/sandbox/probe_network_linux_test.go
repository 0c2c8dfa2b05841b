package sandbox

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Probes that go for the network. Their target answers with its name; an attack has worked when
// EVIL has.
func networkProbes() map[string]func([]string) error {
	return map[string]func([]string) error{
		"tcp":         func(a []string) error { return tcp(unix.AF_INET, 0, a[0]) },
		"tcp6":        func(a []string) error { return tcp(unix.AF_INET6, 0, a[0]) },
		"mptcp":       func(a []string) error { return tcp(unix.AF_INET, unix.IPPROTO_MPTCP, a[0]) },
		"unix_stream": func(a []string) error { return dialUnix(a[0]) },
		"unix_pair":   unixPair,
		"udp":         udp,
		"socket": func(a []string) error {
			fd, err := unix.Socket(int(number(a[0])), int(number(a[1])), int(number(a[2])))
			if err == nil {
				unix.Close(fd)
			}
			return err
		},
		"listen":            listen,
		"flood":             flood,
		"churn":             churn,
		"reconnect":         reconnect,
		"fast_open":         fastOpen,
		"fast_open_connect": fastOpenConnect,
		"socket_is_whole":   func(a []string) error { return socketIsWhole(a[0]) },
		"web":               func(a []string) error { return web(a[0]) },
		"half_close":        func(a []string) error { return halfClose(a[0]) },
		"idle":              func(a []string) error { return idle(int(number(a[0])), a[1]) },
		"time_sockets":      func(a []string) error { return timeSockets(int(number(a[0])), a[1]) },
	}
}

func sockaddr(domain int, address string) unix.Sockaddr {
	a := netip.MustParseAddrPort(address)
	if domain == unix.AF_INET6 {
		return &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()}
	}
	return &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}
}

func tcp(domain, protocol int, address string) error {
	fd, err := unix.Socket(domain, unix.SOCK_STREAM, protocol)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Connect(fd, sockaddr(domain, address)); err != nil {
		return err
	}
	return askEvil(fd)
}

func askEvil(fd int) error {
	if _, err := unix.Write(fd, []byte("stolen")); err != nil {
		return err
	}
	return hearEvil(fd)
}

func hearEvil(fd int) error {
	limit := unix.NsecToTimeval((20 * time.Second).Nanoseconds())
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit); err != nil {
		return err
	}
	buf := make([]byte, 100)
	n, err := unix.Read(fd, buf)
	if err != nil {
		return err
	}
	if who := string(buf[:n]); who != "EVIL" {
		return fmt.Errorf("%q answers", who)
	}
	return nil
}

func dialUnix(path string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		return err
	}
	return askEvil(fd)
}

// unixPair sends through one of two sockets that were only meant for each other.
func unixPair(a []string) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	return unix.Sendto(pair[0], []byte("stolen"), 0, &unix.SockaddrUnix{Name: a[0]})
}

func udp(a []string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Sendto(fd, []byte("stolen"), 0, sockaddr(unix.AF_INET, a[0])); err != nil {
		return err
	}
	return hearEvil(fd)
}

func listen([]string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	return unix.Listen(fd, 1)
}

// flood opens more sockets than it may.
func flood(a []string) error {
	for n := range number(a[0]) {
		if _, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0); err != nil {
			return fmt.Errorf("socket %d: %w", n, err)
		}
	}
	return nil
}

// churn opens and closes, and must come through: each closed socket makes room for another.
// That takes a moment, since the other end has to see it.
func churn(a []string) error {
	for n := range number(a[0]) {
		var err error
		for range 1000 {
			if err = tcp(unix.AF_INET, 0, a[1]); !errors.Is(err, unix.EMFILE) {
				break
			}
			time.Sleep(time.Millisecond)
		}
		if err == nil || !strings.Contains(err.Error(), "GATEWAY") {
			return fmt.Errorf("connection %d: %w", n, err)
		}
	}
	return nil
}

// reconnect lets go of the gateway and dials again.
func reconnect(a []string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	unspecified := unix.RawSockaddrAny{}
	if err := outcome(unix.Syscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&unspecified)), 16)); err != nil {
		return err
	}
	if err := unix.Connect(fd, sockaddr(unix.AF_INET, a[0])); err != nil {
		return err
	}
	return askEvil(fd)
}

// fastOpen connects by sending, in one of the three ways to send.
func fastOpen(a []string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := sendOpen(a[0], fd, rawInet4(a[1])); err != nil {
		return err
	}
	return hearEvil(fd)
}

func rawInet4(address string) *unix.RawSockaddrInet4 {
	a := netip.MustParseAddrPort(address)
	raw := &unix.RawSockaddrInet4{Family: unix.AF_INET, Addr: a.Addr().As4()}
	port := (*[2]byte)(unsafe.Pointer(&raw.Port))
	port[0], port[1] = byte(a.Port()>>8), byte(a.Port())
	return raw
}

func sendOpen(way string, fd int, to *unix.RawSockaddrInet4) error {
	data := []byte("stolen")
	iov := unix.Iovec{Base: &data[0]}
	iov.SetLen(len(data))
	msg := struct {
		unix.Msghdr
		sent uint32
		_    uint32
	}{Msghdr: unix.Msghdr{Name: (*byte)(unsafe.Pointer(to)), Namelen: unix.SizeofSockaddrInet4, Iov: &iov}}
	msg.SetIovlen(1)
	switch way {
	case "sendto":
		return outcome(unix.Syscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&data[0])), uintptr(len(data)),
			unix.MSG_FASTOPEN, uintptr(unsafe.Pointer(to)), unix.SizeofSockaddrInet4))
	case "sendmsg":
		return outcome(unix.Syscall(unix.SYS_SENDMSG, uintptr(fd), uintptr(unsafe.Pointer(&msg)), unix.MSG_FASTOPEN))
	default:
		return outcome(unix.Syscall6(unix.SYS_SENDMMSG, uintptr(fd), uintptr(unsafe.Pointer(&msg)), 1, unix.MSG_FASTOPEN, 0, 0))
	}
}

func fastOpenConnect([]string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	err = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, tcpFastOpenConnect, 1)
	// A connected socket does not take it either, for another reason.
	if errors.Is(err, unix.EINVAL) {
		return nil
	}
	return err
}

package sandbox

import (
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// pairLimit bounds a connection to ourselves, which takes microseconds.
	pairLimit = time.Second
	// lingerLimit is how long the gateway may go on answering after the program has closed or
	// half closed its socket.
	lingerLimit = 10 * time.Second
)

// pair makes a TCP connection to ourselves: a descriptor of the given family, which does not
// block, for the program, and the end that stays here.
func (b *broker) pair(domain int) (int, *net.TCPConn, error) {
	fd, err := unix.Socket(domain, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, nil, err
	}
	here, err := b.meet(fd, domain)
	if err != nil {
		unix.Close(fd)
		return -1, nil, err
	}
	return fd, here, nil
}

// meet connects fd and returns the other end. Once that is accepted, both are connected.
func (b *broker) meet(fd, domain int) (*net.TCPConn, error) {
	err := unix.Connect(fd, address(domain, b.listener.Addr().(*net.TCPAddr).Port))
	if err != nil && !errors.Is(err, unix.EINPROGRESS) {
		return nil, err
	}
	port, err := localPort(fd)
	if err != nil {
		return nil, err
	}
	// Anybody on this machine can fill the listener's queue. The wait must not be for ever.
	if err := b.listener.SetDeadline(time.Now().Add(pairLimit)); err != nil {
		return nil, err
	}
	for {
		c, err := b.listener.AcceptTCP()
		if err != nil {
			return nil, err
		}
		if from := c.RemoteAddr().(*net.TCPAddr); from.Port == port && from.IP.IsLoopback() {
			return c, nil
		}
		c.Close() // somebody else's
	}
}

// address is the loopback address in that family.
func address(domain, port int) unix.Sockaddr {
	if domain == unix.AF_INET6 {
		return &unix.SockaddrInet6{Port: port, Addr: [16]byte{10: 0xff, 11: 0xff, 12: 127, 15: 1}}
	}
	return &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}
}

func localPort(fd int) (int, error) {
	name, err := unix.Getsockname(fd)
	if err != nil {
		return 0, err
	}
	switch a := name.(type) {
	case *unix.SockaddrInet4:
		return a.Port, nil
	case *unix.SockaddrInet6:
		return a.Port, nil
	default:
		return 0, fmt.Errorf("socket of family %T", name)
	}
}

// join carries bytes between the program's connection and one to the gateway, which is made with
// the first byte. It returns when both are closed here.
func (b *broker) join(c *net.TCPConn) {
	defer c.Close()
	first := make([]byte, 4096)
	n, err := c.Read(first)
	if err != nil {
		return
	}
	g, err := net.Dial("tcp4", b.gateway)
	if err != nil {
		return
	}
	defer g.Close()
	b.count(func(s *Sockets) { s.Connected++ })
	if _, err := g.Write(first[:n]); err != nil {
		return
	}
	b.carry(c, g.(*net.TCPConn))
}

// carry ends when both directions have. An error in one of them shows in the other as the end of
// the stream; neither is told, since there is nobody to tell.
func (b *broker) carry(c, g *net.TCPConn) {
	back := make(chan struct{})
	go func() {
		defer close(back)
		_, _ = io.Copy(c, g)
		_ = c.CloseWrite()
	}()
	_, _ = io.Copy(g, c)
	// The gateway takes this as the client's leaving. The slot stays taken until it has let go of
	// its own end too, or the cap would not hold there.
	_ = g.CloseWrite()
	_ = g.SetReadDeadline(time.Now().Add(lingerLimit))
	<-back
}

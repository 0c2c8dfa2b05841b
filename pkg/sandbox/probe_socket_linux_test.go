package sandbox

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"golang.org/x/sys/unix"
)

// Honest uses of a socket, which must work in the jail as they do outside.

// socketIsWhole goes the way of an asynchronous client: flags at birth, a connect that does not
// wait, readiness, the error, the peer.
func socketIsWhole(gateway string) error {
	for _, domain := range []int{unix.AF_INET, unix.AF_INET6} {
		address := gateway
		if domain == unix.AF_INET6 {
			address = "[::ffff:127.0.0.1]" + gateway[len("127.0.0.1"):]
		}
		for _, flags := range []int{0, unix.SOCK_NONBLOCK | unix.SOCK_CLOEXEC} {
			if err := useSocket(domain, flags, address); err != nil {
				return fmt.Errorf("family %d, flags %#x: %w", domain, flags, err)
			}
		}
	}
	return nil
}

func useSocket(domain, flags int, address string) error {
	fd, err := unix.Socket(domain, unix.SOCK_STREAM|flags, unix.IPPROTO_TCP)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := wantFlags(fd, domain, flags); err != nil {
		return err
	}
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
		return err
	}
	if err := unix.Connect(fd, sockaddr(domain, address)); err != nil && !errors.Is(err, unix.EINPROGRESS) {
		return err
	}
	if err := await(fd, unix.POLLOUT); err != nil {
		return err
	}
	if failed, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR); err != nil || failed != 0 {
		return fmt.Errorf("pending error %d, %w", failed, err)
	}
	if _, err := unix.Getpeername(fd); err != nil {
		return err
	}
	if _, err := unix.Write(fd, []byte("hello")); err != nil {
		return err
	}
	if err := await(fd, unix.POLLIN); err != nil {
		return err
	}
	answer := make([]byte, 100)
	n, err := unix.Read(fd, answer)
	if err != nil || string(answer[:n]) != "GATEWAY" {
		return fmt.Errorf("%q answers, %w", answer[:max(n, 0)], err)
	}
	return nil
}

func wantFlags(fd, domain, flags int) error {
	status, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil {
		return err
	}
	descriptor, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	if err != nil {
		return err
	}
	family, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil {
		return err
	}
	nonblocking, closing := status&unix.O_NONBLOCK != 0, descriptor&unix.FD_CLOEXEC != 0
	if nonblocking != (flags&unix.SOCK_NONBLOCK != 0) || closing != (flags&unix.SOCK_CLOEXEC != 0) || family != domain {
		return fmt.Errorf("nonblocking is %t, close-on-exec %t, family %d", nonblocking, closing, family)
	}
	return nil
}

func await(fd int, events int16) error {
	ready := []unix.PollFd{{Fd: int32(fd), Events: events}}
	for {
		n, err := unix.Poll(ready, 20000)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n != 1 {
			return fmt.Errorf("%d descriptors are ready, %w", n, err)
		}
		return nil
	}
}

// web is an HTTP client, which keeps connections and dials several at once.
func web(url string) error {
	failed := make(chan error)
	const clients = 8
	for range clients {
		go func() {
			response, err := http.Get(url)
			if err != nil {
				failed <- err
				return
			}
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			if err == nil && string(body) != "answer" {
				err = fmt.Errorf("the body is %q", body)
			}
			failed <- err
		}()
	}
	var all []error
	for range clients {
		all = append(all, <-failed)
	}
	return errors.Join(all...)
}

// halfClose ends its own side before it reads.
func halfClose(address string) error {
	c, err := net.Dial("tcp4", address)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := io.WriteString(c, "question"); err != nil {
		return err
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		return err
	}
	answer, err := io.ReadAll(c)
	if err != nil || string(answer) != "question" {
		return fmt.Errorf("the answer is %q, %w", answer, err)
	}
	return nil
}

// idle connects without a word.
func idle(sockets int, address string) error {
	for range sockets {
		if _, err := net.Dial("tcp4", address); err != nil {
			return err
		}
	}
	return nil
}

// timeSockets prints how long a socket, its connection and its end take, in nanoseconds.
func timeSockets(n int, address string) error {
	to := sockaddr(unix.AF_INET, address)
	begin := time.Now()
	for range n {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		if err := unix.Connect(fd, to); err != nil && !errors.Is(err, unix.EINPROGRESS) {
			return err
		}
		if err := unix.Close(fd); err != nil {
			return err
		}
	}
	fmt.Println(time.Since(begin).Nanoseconds() / int64(n))
	return nil
}

package sandbox

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestDenial(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name                   string
		domain, kind, protocol int
		want                   string
		err                    error
	}{
		{"tcp", unix.AF_INET, unix.SOCK_STREAM, 0, "", nil},
		{"tcp_by_name", unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_TCP, "", nil},
		{"tcp6", unix.AF_INET6, unix.SOCK_STREAM, 0, "", nil},
		{"udp", unix.AF_INET, unix.SOCK_DGRAM, 0, "udp", unix.EPERM},
		{"udp6", unix.AF_INET6, unix.SOCK_DGRAM, unix.IPPROTO_UDP, "udp", unix.EPERM},
		{"ping", unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP, "icmp", unix.EPERM},
		{"ping6", unix.AF_INET6, unix.SOCK_RAW, unix.IPPROTO_ICMPV6, "icmp", unix.EPERM},
		{"raw", unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_TCP, "raw", unix.EPERM},
		{"mptcp", unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP, "mptcp", unix.EPERM},
		{"sctp", unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP, "protocol", unix.EPERM},
		{"packets", unix.AF_INET, unix.SOCK_SEQPACKET, 0, "protocol", unix.EPERM},
		{"unix", unix.AF_UNIX, unix.SOCK_STREAM, 0, "unix", unix.EAFNOSUPPORT},
		{"netlink", unix.AF_NETLINK, unix.SOCK_RAW, 0, "netlink", unix.EAFNOSUPPORT},
		{"packet", unix.AF_PACKET, unix.SOCK_RAW, 0, "packet", unix.EAFNOSUPPORT},
		{"vsock", unix.AF_VSOCK, unix.SOCK_STREAM, 0, "vsock", unix.EAFNOSUPPORT},
		{"alg", unix.AF_ALG, unix.SOCK_SEQPACKET, 0, "family", unix.EAFNOSUPPORT},
		{"smc", 43, unix.SOCK_STREAM, 0, "family", unix.EAFNOSUPPORT},
		{"nonsense", -1, -1, -1, "family", unix.EAFNOSUPPORT},
	} {
		if got, err := denial(test.domain, test.kind, test.protocol); got != test.want || !errors.Is(err, test.err) {
			t.Errorf("%s: denial returns %q, %v; want %q, %v", test.name, got, err, test.want, test.err)
		}
	}
}

func TestSocketIsWhole(t *testing.T) {
	t.Parallel()
	c := newLab(t).cell(t)
	worked, state := c.probe("socket_is_whole", c.gateway.address)
	if !worked {
		t.Error("a socket in the jail is not like one outside")
	}
	want := Sockets{Brokered: 4, Connected: 4, Connects: 4, Denied: map[string]int{}}
	if diff := cmp.Diff(want, state.Sockets); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	if got := c.gateway.opened.Load(); got != 4 {
		t.Errorf("the gateway sees %d connections, want 4", got)
	}
}

// The name of a host that nobody knows leads to the gateway as well, if it is a number.
func TestWebClient(t *testing.T) {
	t.Parallel()
	c := newLab(t).cell(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != "192.0.2.1:8000" {
			http.Error(w, r.Host, http.StatusBadRequest)
		}
		_, _ = io.WriteString(w, "answer")
	}))
	defer server.Close()
	c.policy.Gateway = server.Listener.Addr().String()
	if worked, state := c.probe("web", "http://192.0.2.1:8000/"); !worked {
		t.Errorf("the client fails; %+v", state)
	}
}

func TestHalfClose(t *testing.T) {
	t.Parallel()
	c := newLab(t).cell(t)
	c.policy.Gateway = serveAtEnd(t)
	if worked, _ := c.probe("half_close", "192.0.2.1:80"); !worked {
		t.Error("the answer to a half closed connection is lost")
	}
}

// serveAtEnd gives back what it is sent once the sender is done.
func serveAtEnd(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	check(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			question, _ := io.ReadAll(c)
			_, _ = c.Write(question)
			c.Close()
		}
	}()
	return l.Addr().String()
}

func TestGatewayIsDialledWithTheFirstByte(t *testing.T) {
	t.Parallel()
	c := newLab(t).cell(t)
	worked, state := c.probe("idle", "10", c.gateway.address)
	if !worked || state.Sockets.Brokered != 10 || state.Sockets.Connected != 0 || c.gateway.opened.Load() != 0 {
		t.Errorf("worked %t, %+v, the gateway sees %d connections; want none", worked, state.Sockets, c.gateway.opened.Load())
	}
}

func TestGatewayIsGone(t *testing.T) {
	t.Parallel()
	c := newLab(t).cell(t)
	c.policy.Gateway = "127.0.0.1:1"
	worked, state := c.probe("tcp", c.gateway.address)
	if worked || state.Sockets.Brokered != 1 || state.Sockets.Connected != 0 {
		t.Errorf("worked %t, %+v; want one socket without a connection", worked, state.Sockets)
	}
}

// A cap that counted sockets ever made would end an honest program.
func TestClosedSocketsMakeRoom(t *testing.T) {
	t.Parallel()
	c := newLab(t).cell(t)
	c.policy.MaxSockets = 2
	const rounds = 100
	worked, state := c.probe("churn", strconv.Itoa(rounds), c.gateway.address)
	if !worked || state.Sockets.Connected != rounds {
		t.Errorf("worked %t, %+v; want %d connections", worked, state.Sockets, rounds)
	}
}

// The cap is one for the whole jail, however many processes open sockets.
func TestCapIsShared(t *testing.T) {
	t.Parallel()
	c := newLab(t).cell(t)
	c.policy.MaxSockets = 8
	script := `for i in 1 2 3; do "$0" probe flood 9 & done; wait`
	state := c.run("/bin/sh", "-c", script, c.lab.binary)
	if state.Sockets.OverCap == 0 || state.Sockets.Brokered < 8 {
		t.Errorf("%+v; want at least 8 sockets and some over the cap", state.Sockets)
	}
}

// A signal in the middle of a hand-over once gave the program 0 for a socket: see broker.serve.
func TestSignalsDoNotDisturb(t *testing.T) {
	t.Parallel()
	c := newLab(t).cell(t)
	const rounds = 1000
	c.policy.MaxSockets = rounds
	p := c.start(c.lab.binary, "probe", "time_sockets", strconv.Itoa(rounds), c.gateway.address)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = p.Wait()
	}()
	for running := true; running; {
		// What the runtime sends to its own threads, to each of the warden's.
		threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", p.warden.Process.Pid))
		for _, thread := range threads {
			id, err := strconv.Atoi(thread.Name())
			check(t, err)
			_ = unix.Tgkill(p.warden.Process.Pid, id, unix.SIGURG)
		}
		select {
		case <-ended:
			running = false
		default:
			running = err == nil
		}
	}
	state, err := p.Wait()
	check(t, err)
	if state.Code != probeWorked || state.Sockets.Brokered != rounds || state.Sockets.Connects != rounds {
		t.Errorf("%+v, %q; want %d sockets, each connected", state, c.stdout.String(), rounds)
	}
}

func TestForeignConnectionsAreDropped(t *testing.T) {
	t.Parallel()
	b, err := newBroker("127.0.0.1:1", 1, true)
	check(t, err)
	defer b.listener.Close()
	foreign, err := net.Dial("tcp4", b.listener.Addr().String())
	check(t, err)
	defer foreign.Close()
	fd, here, err := b.pair(unix.AF_INET)
	check(t, err)
	defer unix.Close(fd)
	defer here.Close()
	_, err = unix.Write(fd, []byte("mine"))
	check(t, err)
	got := make([]byte, 4)
	if _, err := io.ReadFull(here, got); err != nil || string(got) != "mine" {
		t.Errorf("the end that stays hears %q, %v", got, err)
	}
	if n, err := foreign.Read(got); err == nil {
		t.Errorf("the foreign connection hears %d bytes, want its end", n)
	}
}

func BenchmarkStart(b *testing.B) {
	home := b.TempDir()
	for b.Loop() {
		p, err := Start(b.Context(), Policy{
			Read: []string{"/usr", "/bin", "/lib", "/lib64"}, Write: []string{home}, Gateway: "127.0.0.1:1",
		}, Command{Path: "/bin/sleep", Args: []string{"600"}, Dir: "/"})
		check(b, err)
		b.StopTimer()
		check(b, p.Kill())
		b.StartTimer()
	}
}

func BenchmarkSocket(b *testing.B) {
	var out strings.Builder
	home := b.TempDir()
	binary := worldReadable(b)
	p, err := Start(b.Context(), Policy{
		Read: []string{binary, "/usr", "/lib", "/lib64"}, Write: []string{home}, Gateway: "127.0.0.1:1", MaxSockets: 1 << 10,
	}, Command{Path: binary, Args: []string{"probe", "time_sockets", strconv.Itoa(b.N), "127.0.0.1:1"}, Dir: "/", Stdout: &out})
	check(b, err)
	state, err := p.Wait()
	check(b, err)
	each, err := strconv.Atoi(strings.TrimSpace(out.String()))
	if err != nil {
		b.Fatalf("%+v, %q", state, out.String())
	}
	b.ReportMetric(float64(each), "ns/op")
}

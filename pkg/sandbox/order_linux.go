package sandbox

import (
	"errors"
	"io"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"
)

// order is what a warden is told. It comes over a socket, since argv and environment can be read
// by others, and as gob, since paths and variables need not be UTF-8.
type order struct {
	Policy Policy
	// Walls are those to put up. One that cannot be is an error.
	Walls []string
	// ABI is Landlock's version.
	ABI  int
	Path string
	Args []string
	Env  []string
	Dir  string
}

func (o order) has(wall string) bool { return slices.Contains(o.Walls, wall) }

// port is the gateway's. The address was looked at by Policy.filled.
func (o order) port() uint16 { return netip.MustParseAddrPort(o.Policy.Gateway).Port() }

// reply is what a warden says: a failure, or nothing of it once the program runs; then how it
// ended.
type reply struct {
	Failure, Hint string
	Exit          *ExitState
}

// The hidden arguments by which this binary becomes a warden, or the process that turns into the
// program.
const (
	argWarden = "__recibo_warden"
	argWalls  = "__recibo_walls"
)

// controlFD is the descriptor of the socket to the process above, in both.
const controlFD = 3

// IsChild reports whether this process was started by Start. If so, main must call Child at once:
//
//	if sandbox.IsChild(os.Args) {
//		sandbox.Child()
//	}
func IsChild(args []string) bool {
	return len(args) == 2 && (args[1] == argWarden || args[1] == argWalls)
}

// readerFD and writerFD use a descriptor without taking it over, and block.
type (
	readerFD int
	writerFD int
)

func (fd readerFD) Read(p []byte) (int, error) {
	for {
		n, err := unix.Read(int(fd), p)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}

func (fd writerFD) Write(p []byte) (int, error) {
	for done := 0; done < len(p); {
		n, err := unix.Write(int(fd), p[done:])
		if err != nil && !errors.Is(err, unix.EINTR) {
			return done, err
		}
		done += max(n, 0)
	}
	return len(p), nil
}

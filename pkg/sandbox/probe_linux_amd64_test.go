package sandbox

import (
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Probes that call the kernel in another convention.
func archProbes() map[string]func([]string) error {
	return map[string]func([]string) error{
		"int80": int80,
		// Without the wall, a kernel that does not know the convention says so.
		"x32": asked(unix.ENOSYS, func([]string) error {
			return outcome(unix.RawSyscall(firstForeign|unix.SYS_GETPID, 0, 0, 0))
		}),
	}
}

// int80 makes a UDP socket by the 32-bit call socketcall.
func int80([]string) error {
	const socketcall, sysSocket = 102, 1
	memory, err := unix.MmapPtr(-1, 0, nil, 8192, unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_32BIT)
	if err != nil {
		return err
	}
	low := uint32(uintptr(memory))
	args := (*[3]uint32)(memory)
	*args = [3]uint32{unix.AF_INET, unix.SOCK_DGRAM, 0}
	code := unsafe.Add(memory, 4096)
	text := unsafe.Slice((*byte)(code), 4096)[:0]
	text = append(text, 0xb8, socketcall, 0, 0, 0)                                   // mov eax, socketcall
	text = append(text, 0xbb, sysSocket, 0, 0, 0)                                    // mov ebx, SYS_SOCKET
	text = append(text, 0xb9, byte(low), byte(low>>8), byte(low>>16), byte(low>>24)) // mov ecx, args
	text = append(text, 0xcd, 0x80, 0xc3)                                            // int 0x80; ret
	call := &code                                                                    // a function value is a pointer to a word that holds the code's address
	fd := (*(*func() int32)(unsafe.Pointer(&call)))()
	_ = text
	if fd < 0 {
		return fmt.Errorf("socketcall: %w", syscall.Errno(-fd))
	}
	return nil
}

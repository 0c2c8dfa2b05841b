package sandbox

import "golang.org/x/sys/unix"

const (
	nativeArch = unix.AUDIT_ARCH_AARCH64
	// firstForeign is 0: there is no second convention under this architecture value.
	firstForeign = 0
)

func archRefused() []uint32 { return nil }

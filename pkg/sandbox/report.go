package sandbox

import "fmt"

// facts are what the kernel says of this process, before anything is started.
type facts struct {
	uid int
	// ids is nil where another user can be taken on.
	ids error
	// bounding is nil where the capability bounding set can be emptied.
	bounding error
	// abi is Landlock's version; landlock says why it is 0.
	abi      int
	landlock error
	// filter is nil where a seccomp program can be installed, notify where its calls can be
	// answered from outside.
	filter, notify error
}

// Landlock ABI versions from which something is there.
const (
	abiFiles    = 1
	abiTruncate = 3
	abiTCP      = 4
	abiDevices  = 5
	abiScope    = 6
)

// assess turns facts into a report. What is not known to stand is missing.
func assess(f facts) Report {
	r := Report{LandlockABI: f.abi, UID: f.uid}
	r.Walls = []string{wallEnvironment, wallDescriptors, wallReaping, wallLimits}
	r.user(f)
	r.landlock(f)
	r.seccomp(f)
	r.Level = r.level()
	return r
}

func (r *Report) user(f facts) {
	if f.ids != nil {
		r.miss(wallUser, f.ids)
		r.miss(wallLimits, fmt.Errorf("the number of processes is not bounded, since the user has others"))
	} else {
		r.UID = defaultUser
		r.Walls = append(r.Walls, wallUser)
	}
	if f.bounding != nil {
		r.miss(wallCapabilities, f.bounding)
	} else {
		r.Walls = append(r.Walls, wallCapabilities)
	}
	r.Walls = append(r.Walls, wallPrivileges)
}

func (r *Report) landlock(f facts) {
	if f.abi < abiFiles {
		r.miss(wallFiles, f.landlock)
		if !r.has(wallUser) {
			r.miss(wallScope, f.landlock)
		}
		return
	}
	r.Walls = append(r.Walls, wallFiles)
	if f.abi < abiTruncate {
		r.miss(wallFiles, fmt.Errorf("the kernel's Landlock, ABI %d, does not know truncation", f.abi))
	}
	if f.abi >= abiTCP {
		r.Walls = append(r.Walls, wallTCP)
	}
	if f.abi >= abiScope {
		r.Walls = append(r.Walls, wallScope)
	} else if !r.has(wallUser) {
		// A user of its own cannot signal us, and seccomp refuses unix sockets: there, the scope
		// is a second wall. Here it would be the only one.
		r.miss(wallScope, fmt.Errorf("the kernel's Landlock, ABI %d, does not hold signals back", f.abi))
	}
}

func (r *Report) seccomp(f facts) {
	if f.filter != nil {
		r.miss("seccomp", f.filter)
		return
	}
	r.Walls = append(r.Walls, callWalls()...)
	if f.notify != nil {
		r.miss(wallBroker, f.notify)
		return
	}
	r.Walls = append(r.Walls, wallBroker, wallSocketCap)
}

func (r *Report) miss(wall string, why error) {
	r.Missing = append(r.Missing, fmt.Sprintf("%s: %v", wall, why))
}

func (r Report) level() Level {
	if len(r.Missing) == 0 {
		return Full
	}
	if r.has(wallUser) || r.has(wallFiles) || r.has(wallSockets) {
		return Partial
	}
	return None
}

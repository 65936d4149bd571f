//go:build !linux

package script

// defaultMemoryLimit returns 0: programs are not limited by default on this system.
func defaultMemoryLimit() uint64 { return 0 }

// MemInfo returns nil on this system.
func MemInfo() map[string]uint64 { return nil }

//go:build !linux

package script

// defaultMemoryLimit is unknown here: programs are not limited by default.
func defaultMemoryLimit() uint64 { return 0 }

// MemInfo is empty here.
func MemInfo() map[string]uint64 { return nil }

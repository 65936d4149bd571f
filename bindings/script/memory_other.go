//go:build !linux

package script

// memoryOfMachine is unknown here: programs are not limited by default.
func memoryOfMachine() uint64 { return 0 }

// MemInfo is empty here.
func MemInfo() map[string]uint64 { return nil }

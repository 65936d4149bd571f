package script

import (
	"bufio"
	"os"
	"strconv"
	"strings"
)

// defaultMemoryLimit returns the default memory limit of a program in bytes: half of the memory of the
// machine or container, and at most half of the free memory. The rest has room for one more doubling of
// a string. It is 0 if nothing is known.
func defaultMemoryLimit() uint64 {
	var container []uint64
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		data, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if n, err := strconv.ParseUint(strings.TrimSpace(string(data)), 10, 64); err == nil {
			container = append(container, n)
		}
	}
	return halfOfMemory(MemInfo(), heapSize(), container)
}

// unlimitedMemory is the limit from which a container has none: version 1 of cgroups writes nearly 2^63.
const unlimitedMemory = 1 << 60

func halfOfMemory(info map[string]uint64, heap uint64, container []uint64) uint64 {
	least := uint64(unlimitedMemory)
	if total, known := info["MemTotal"]; known {
		least = min(least, total)
	}
	if free, known := info["MemAvailable"]; known { // from Linux 3.14 on
		least = min(least, free+heap)
	}
	for _, n := range container {
		least = min(least, n)
	}
	if least == unlimitedMemory {
		return 0
	}
	return least / 2
}

// MemInfo returns /proc/meminfo in bytes.
func MemInfo() map[string]uint64 {
	info := map[string]uint64{}
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return info
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, rest, _ := strings.Cut(lines.Text(), ":")
		if fields := strings.Fields(rest); len(fields) > 0 {
			n, _ := strconv.ParseUint(fields[0], 10, 64)
			info[name] = n << 10
		}
	}
	return info
}

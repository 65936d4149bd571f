package script

import (
	"bufio"
	"cmp"
	"os"
	"strconv"
	"strings"
)

// defaultMemoryLimit returns the default memory limit of a program in bytes: half of the memory of the
// machine or container, and at most half of the free memory. The rest has room for one more doubling of
// a string.
func defaultMemoryLimit() uint64 {
	info := MemInfo()
	limit := info["MemTotal"] / 2 // zero if unknown
	if free := (info["MemAvailable"] + heapSize()) / 2; free > 0 {
		limit = min(limit, free)
	}
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		data, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if n, err := strconv.ParseUint(strings.TrimSpace(string(data)), 10, 64); err == nil {
			limit = cmp.Or(min(limit, n/2), n/2)
		}
	}
	return limit
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

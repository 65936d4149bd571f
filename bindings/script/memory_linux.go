package script

import (
	"bufio"
	"os"
	"strconv"
	"strings"
)

// defaultMemoryLimit returns how much memory a program may take by default, in
// bytes: half of the machine's or the container's, and of what is free. One more
// step of a text that doubles fits into the rest.
func defaultMemoryLimit() uint64 {
	info := MemInfo()
	limit := info["MemTotal"] / 2
	if free := (info["MemAvailable"] + heapSize()) / 2; free > 0 {
		limit = min(limit, free)
	}
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		data, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if n, err := strconv.ParseUint(strings.TrimSpace(string(data)), 10, 64); err == nil {
			limit = min(limit, n/2)
		}
	}
	return limit
}

// MemInfo is /proc/meminfo in bytes.
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

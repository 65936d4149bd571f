package live

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// thisProcess returns an id of this process that is unique over all machines and times: the
// machine's boot id, the PID namespace, the PID, and the start time, as PIDs are reused.
// Empty if that can't be read.
func thisProcess() string {
	began, err := processBegan(os.Getpid())
	room := bootAndNamespace()
	if err != nil || room == "" {
		return ""
	}
	return fmt.Sprintf("%s %d %s", room, os.Getpid(), began)
}

// processGone reports whether a process has ended for certain: it was one of this machine
// and of the same PID namespace.
func processGone(id string) bool {
	room, process, ok := strings.Cut(id, " ")
	number, began, _ := strings.Cut(process, " ")
	pid, err := strconv.Atoi(number)
	if !ok || err != nil || room != bootAndNamespace() {
		return false
	}
	now, err := processBegan(pid)
	return errors.Is(err, fs.ErrNotExist) || err == nil && now != began
}

// bootAndNamespace returns the boot id of this machine and the PID namespace.
func bootAndNamespace() string {
	start, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(start)) + "/" + space
}

// processBegan returns when a process started, in ticks since boot.
func processBegan(pid int) (string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	// The second field, in parentheses, is any text. The 22nd is the start time.
	_, rest, _ := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), " ")
	fields := strings.Fields(rest)
	if len(fields) < 20 {
		return "", fmt.Errorf("the state of process %d has %d fields", pid, len(fields))
	}
	if fields[0] == "Z" || fields[0] == "X" { // it has ended, and its parent has not waited for it
		return "", fs.ErrNotExist
	}
	return fields[19], nil
}

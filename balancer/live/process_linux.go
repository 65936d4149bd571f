package live

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// thisProcess returns what tells this process apart from all that ever were on any
// machine: the machine's start, the room in which numbers of processes count, the
// number, and when it began, as numbers come back. Empty where that can't be read.
func thisProcess() string {
	began, err := processBegan(os.Getpid())
	room := processRoom()
	if err != nil || room == "" {
		return ""
	}
	return fmt.Sprintf("%s %d %s", room, os.Getpid(), began)
}

// processGone reports whether it is certain that a process has ended: it was one of
// this machine, and of the same room.
func processGone(id string) bool {
	room, process, ok := strings.Cut(id, " ")
	number, began, _ := strings.Cut(process, " ")
	pid, err := strconv.Atoi(number)
	if !ok || err != nil || room != processRoom() {
		return false
	}
	now, err := processBegan(pid)
	return errors.Is(err, fs.ErrNotExist) || err == nil && now != began
}

// processRoom names the start of this machine and the namespace of its processes.
func processRoom() string {
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

// processBegan returns when a process began, in ticks since the machine's start.
func processBegan(pid int) (string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	// The second field, in parentheses, is any text. The 22nd is what is wanted.
	_, rest, _ := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), " ")
	fields := strings.Fields(rest)
	if len(fields) < 20 {
		return "", fmt.Errorf("the state of process %d has %d fields", pid, len(fields))
	}
	if fields[0] == "Z" || fields[0] == "X" { // it has ended, and nobody has taken note
		return "", fs.ErrNotExist
	}
	return fields[19], nil
}

package live

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// thisProcess returns an id of this process that is unique over all machines and times: the
// machine's boot id, the PID namespace, the PID, and the start time, as PIDs are reused.
// Empty if that can't be read.
func thisProcess() string { return system.selfID() }

// processGone reports whether the process of a holder has ended for certain: it was one of
// this machine and of the same PID namespace.
func processGone(h Holder) bool { return system.hasEnded(h) }

// processes are those of a machine, as its kernel shows them.
type processes struct {
	proc string // where its file system is mounted
	host func() (string, error)
	// signal asks the kernel about a process, with no signal. What it answers does not depend
	// on what the mount of proc hides.
	signal func(pid int, s syscall.Signal) error
}

var system = processes{"/proc", os.Hostname, syscall.Kill}

func (p processes) selfID() string {
	began, err := p.startTime(os.Getpid())
	machine := p.bootAndNamespace()
	if err != nil || machine == "" {
		return ""
	}
	return fmt.Sprintf("%s %d %s", machine, os.Getpid(), began)
}

// hasEnded also compares names of hosts: machines that were resumed from one snapshot have the
// same boot id.
func (p processes) hasEnded(h Holder) bool {
	machine, process, ok := strings.Cut(h.Process, " ")
	number, began, _ := strings.Cut(process, " ")
	pid, err := strconv.Atoi(number)
	host, unnamed := p.host()
	if !ok || err != nil || pid <= 0 || unnamed != nil || host != h.Host || machine != p.bootAndNamespace() {
		return false
	}
	if errors.Is(p.signal(pid, 0), syscall.ESRCH) {
		return true
	}
	now, err := p.startTime(pid)
	return errors.Is(err, errProcessEnded) || err == nil && now != began
}

// bootAndNamespace returns the boot id of this machine and the PID namespace; empty where
// the file system is that of another namespace, as in a container with its host's /proc.
func (p processes) bootAndNamespace() string {
	self, err := os.Readlink(p.proc + "/self")
	if err != nil || self != strconv.Itoa(os.Getpid()) {
		return ""
	}
	start, err := os.ReadFile(p.proc + "/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	space, err := os.Readlink(p.proc + "/self/ns/pid")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(start)) + "/" + space
}

// errProcessEnded says that a process has ended, and its parent has not waited for it.
var errProcessEnded = errors.New("the process has ended")

// startTime returns when a process started, in ticks since boot. With hidepid, processes of
// other users can't be seen here.
func (p processes) startTime(pid int) (string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("%s/%d/stat", p.proc, pid))
	if err != nil {
		return "", err
	}
	// The second field, in parentheses, is any text. The 22nd is the start time.
	_, rest, _ := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), " ")
	fields := strings.Fields(rest)
	if len(fields) < 20 {
		return "", fmt.Errorf("the state of process %d has %d fields", pid, len(fields))
	}
	if fields[0] == "Z" || fields[0] == "X" {
		return "", errProcessEnded
	}
	return fields[19], nil
}

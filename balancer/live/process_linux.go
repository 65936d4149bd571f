package live

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// thisProcess returns an id of this process that is unique over all machines and times: the machine's
// boot id, the PID namespace, the PID, and the start time, because PIDs are reused. It is empty if
// these can't be read.
func thisProcess() string { return localProcesses.selfID() }

// processGone reports whether the process of a holder has certainly ended. It must have been a process
// of this machine and of the same PID namespace.
func processGone(h Holder) bool { return localProcesses.hasEnded(h) }

// processes provides access to the processes of a machine.
type processes struct {
	proc string // mount point of the proc file system
	host func() (string, error)
	// signal sends signal 0 to a process. In contrast to the file system, the answer does not depend on
	// the mount options of proc.
	signal func(pid int, s syscall.Signal) error
}

var localProcesses = processes{"/proc", os.Hostname, syscall.Kill}

func (p processes) selfID() string {
	began, err := p.startTime(os.Getpid())
	machine := p.bootAndNamespace()
	if err != nil || machine == "" {
		return ""
	}
	return fmt.Sprintf("%s %d %s", machine, os.Getpid(), began)
}

// hasEnded reports whether the process of a holder has certainly ended. It also compares host names,
// because machines that were resumed from the same snapshot have the same boot id.
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

// bootAndNamespace returns the boot id of this machine and the PID namespace. It is empty if the file
// system belongs to another namespace, as in a container with the /proc of its host.
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

// errProcessEnded says that a process has ended and that its parent has not waited for it yet.
var errProcessEnded = errors.New("the process has ended")

// startTime returns when a process was started, in ticks since boot. With hidepid, processes of other
// users are not visible.
func (p processes) startTime(pid int) (string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("%s/%d/stat", p.proc, pid))
	if err != nil {
		return "", err
	}
	// The second field, in parentheses, may contain any text. The 22nd field is the start time.
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

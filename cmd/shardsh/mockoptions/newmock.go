// Package mockoptions creates mock clusters from the options of a command line.
package mockoptions

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/disk"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/store/quota"
	"shardsh/bindings/sandbox"
	"shardsh/cmd/shardsh/cmdline"
)

// NewCluster creates a mock cluster. It returns an error if newOnly names options for the content of a new
// cluster and the cluster already exists.
func NewCluster(cfg mock.Config, newOnly string) (*mock.Cluster, error) {
	cluster, err := mock.New(cfg)
	if errors.Is(err, mock.ErrHoldsCluster) {
		return nil, cmdline.Usagef("--dbpath %s holds a cluster already: omit %s, or name "+
			"another directory", cfg.DBPath, newOnly)
	}
	if damage := new(disk.DamageError); err == nil || errors.As(err, &damage) || errors.Is(err, disk.ErrEmpty) {
		return cluster, err
	}
	return nil, cmdline.UsageError{Err: err}
}

// defaultMemory is the default memory limit of all commands of the mock together.
const defaultMemory = 1 << 30

// NewMemoryBudget returns the memory budget of the mock's commands; 0 means unlimited.
func NewMemoryBudget(memory cmdline.Optional[int64]) *quota.Budget {
	if !memory.IsSet {
		return quota.NewBudget(defaultMemory)
	}
	return quota.NewBudget(memory.Value)
}

// SnapshotsInDBPath returns the function that finds the snapshots of a served mock in its dbpath,
// because its clients must not access other files of this machine. It returns nil without a dbpath.
func SnapshotsInDBPath(dbpath string) router.SnapshotPathFunc {
	if dbpath == "" {
		return nil
	}
	dir := filepath.Join(dbpath, "snapshots")
	return func(name string, write bool) (string, error) {
		if name != filepath.Base(name) || !filepath.IsLocal(name) {
			return "", fmt.Errorf("%q is not a plain file name: a served mock keeps its snapshots in %s", name, dir)
		}
		if write {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return "", err
			}
		}
		return filepath.Join(dir, name), nil
	}
}

// SnapshotsAnywhere returns the function that finds the snapshots of the mock in this process, in any
// file that rules allow: its script has the permissions of this process.
func SnapshotsAnywhere(rules *sandbox.Rules) router.SnapshotPathFunc {
	return func(name string, write bool) (string, error) {
		may := rules.CheckRead(name)
		if write {
			may = rules.CheckWrite()
		}
		if may != nil {
			return "", may
		}
		return filepath.Abs(name)
	}
}

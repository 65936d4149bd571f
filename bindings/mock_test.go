package bindings

import (
	"bytes"
	"context"
	"os"
	"testing"
	"time"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
)

// onMock is a shell on the embedded mock cluster, in virtual time.
func onMock(t *testing.T, cfg mock.Config) *connected {
	t.Helper()
	cluster, err := mock.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	client := dial(t, router.New(cluster, nil))
	c := &connected{out: &bytes.Buffer{}, errs: &bytes.Buffer{}}
	s, err := New(Config{
		Client: client, Address: "mongodb://mock:27017/", Deployment: "mock: mongos", Clock: cluster.Clock(),
		Stdout: c.out, Stderr: c.errs, Version: "1.2.3",
	})
	if err != nil {
		t.Fatal(err)
	}
	c.Shell = s
	return c
}

// TestGolden runs recorded scenarios when their folder is given.
func TestGolden(t *testing.T) {
	dir := os.Getenv("GOLDEN")
	if dir == "" {
		t.Skip("GOLDEN names no folder with scenarios")
	}
	for _, name := range []string{"01-commands", "02-initial-chunks", "03-zones", "04-settings", "05-balance-by-size", "06-defrag", "07-jumbo", "08-catalog", "10-expressions", "11-queries"} {
		t.Run(name, func(t *testing.T) {
			c := onMock(t, mock.Config{Seed: 1, Parameters: map[string]any{
				"orphanCleanupDelaySecs": 0, "minSnapshotHistoryWindowInSeconds": 0, "transactionLifetimeLimitSeconds": 1, "reshardingMinimumOperationDurationMillis": 0,
			}})
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
			defer cancel()
			for _, file := range []string{"lib.js", name + ".js"} {
				if _, err := c.RunFile(ctx, dir+"/"+file); err != nil {
					t.Fatalf("%s: %v %s", file, err, c.errs)
				}
			}
			if err := os.WriteFile(os.TempDir()+"/got-"+name+".json", c.out.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}

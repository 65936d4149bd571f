package mock_test

import (
	"path/filepath"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mongoerr"
)

// On real time a snapshot is loaded while others write and move chunks: they go
// on with the cluster that was loaded. A write that was under way may be
// interrupted, or another may have inserted its document first: no other error.
func TestLoadWhileOthersWork(t *testing.T) {
	dir := t.TempDir()
	c, err := mock.New(mock.Config{RealTime: true, DBPath: filepath.Join(dir, "db")})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	v := &victim{c, router.New(c, nil)}
	v.prepare()
	v.run("db", d("insert", "c", "documents", bson.A{d("_id", int64(-1), "k", 0, "v", int64(7))}))
	file := filepath.Join(dir, "snapshot")
	if err := c.Save(file); err != nil {
		t.Fatal(err)
	}
	expected := func(reply bson.Raw) bool {
		top, _ := reply.Lookup("code").AsInt64OK()
		first := writeErrorCode(reply)
		return top == int64(mongoerr.Interrupted) || first == int64(mongoerr.Interrupted) ||
			first == int64(mongoerr.DuplicateKey)
	}
	stop := make(chan struct{})
	var others sync.WaitGroup
	for n := range 3 {
		others.Go(func() {
			for i := int64(0); ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				if n == 0 {
					v.run("admin", d("moveChunk", ns, "find", d("k", 0), "to", "shard1"))
					v.run("admin", d("moveChunk", ns, "find", d("k", 0), "to", "shard0"))
				}
				if reply, ok := v.apply(i%50, i, int32(i%80-40)); !ok && !expected(reply) {
					t.Error(reply)
				}
			}
		})
	}
	for range 3 {
		if err := c.Load(file); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	others.Wait()
	c.Lock()
	defer c.Unlock()
	if err := c.CheckInvariants(); err != nil {
		t.Error(err)
	}
	found := false
	for doc := range c.Documents(ns, nil) {
		found = found || doc.Lookup("_id").AsInt64() == -1
	}
	if !found {
		t.Error("the document of the snapshot is gone")
	}
}

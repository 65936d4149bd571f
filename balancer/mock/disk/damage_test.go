package disk_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/disk"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/wire"
)

// cluster is a cluster with a mongos.
type cluster struct {
	*testing.T
	*mock.Cluster
	router *router.Router
}

func open(t *testing.T, dir string) *cluster {
	t.Helper()
	c, err := mock.New(mock.Config{DBPath: dir})
	if err != nil {
		t.Fatal(err)
	}
	return &cluster{t, c, router.New(c, nil)}
}

func (c *cluster) run(db string, command bson.D) bson.Raw {
	c.Helper()
	body, err := bson.Marshal(command)
	if err != nil {
		c.Fatal(err)
	}
	reply := c.router.Handle(context.Background(), wire.Request{
		Database: db, Command: command[0].Key, Body: body, Client: &wire.ClientConn{ID: 1},
	})
	if n, _ := reply.Lookup("ok").AsFloat64OK(); n != 1 || !reply.Lookup("writeErrors").IsZero() {
		c.Errorf("%v: %s", command[0], reply)
	}
	return reply
}

func doc(pairs ...any) bson.D {
	d := bson.D{}
	for i := 0; i < len(pairs); i += 2 {
		d = append(d, bson.E{Key: pairs[i].(string), Value: pairs[i+1]})
	}
	return d
}

// documents is how many there are to damage.
const documents = 150

// text is what document number n holds.
func text(n int) string { return fmt.Sprintf("%04d", n) + strings.Repeat(string(rune('a'+n%26)), 300) }

// sample returns the file of a cluster with documents on three shards.
func sample(t *testing.T) []byte {
	t.Helper()
	dir := t.TempDir()
	c := open(t, dir)
	c.run("admin", doc("shardCollection", "app.c", "key", doc("_id", 1)))
	for i := 1; i < 3; i++ {
		c.run("admin", doc("split", "app.c", "middle", doc("_id", i*documents/3)))
		c.run("admin", doc("moveRange", "app.c", "min", doc("_id", i*documents/3), "toShard", fmt.Sprintf("shard%d", i)))
	}
	for i := range documents {
		c.run("app", doc("insert", "c", "documents", bson.A{doc("_id", i, "text", text(i))}))
	}
	c.Close()
	return read(t, filepath.Join(dir, disk.FileName))
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func put(t *testing.T, dir string, data []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, disk.FileName), data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// found returns the documents of a cluster, and fails for one that nobody wrote.
func (c *cluster) found() map[int]bool {
	c.Helper()
	found := map[int]bool{}
	reply := c.run("app", doc("find", "c", "batchSize", documents+1))
	values, err := reply.Lookup("cursor", "firstBatch").Array().Values()
	if err != nil {
		c.Fatal(err)
	}
	for _, v := range values {
		id := int(v.Document().Lookup("_id").AsInt64())
		if v.Document().Lookup("text").StringValue() != text(id) || found[id] {
			c.Errorf("document %d is not what was written", id)
		}
		found[id] = true
	}
	return found
}

// harms are ways in which a file gets damaged.
func harms() map[string]func(r *rand.Rand, data []byte) []byte {
	const page = 4096
	anyPage := func(r *rand.Rand, data []byte) []byte {
		at := r.IntN(len(data)/page) * page
		return data[at : at+page]
	}
	return map[string]func(*rand.Rand, []byte) []byte{
		"a bit": func(r *rand.Rand, data []byte) []byte {
			data[r.IntN(len(data))] ^= 1 << r.IntN(8)
			return data
		},
		"many bytes": func(r *rand.Rand, data []byte) []byte {
			for range 200 {
				data[r.IntN(len(data))] = byte(r.Uint32())
			}
			return data
		},
		"a page of zeros": func(r *rand.Rand, data []byte) []byte {
			clear(anyPage(r, data))
			return data
		},
		"a page of noise": func(r *rand.Rand, data []byte) []byte {
			p := anyPage(r, data)
			for i := range p {
				p[i] = byte(r.Uint32())
			}
			return data
		},
		"the head of a page": func(r *rand.Rand, data []byte) []byte {
			anyPage(r, data)[r.IntN(64)] ^= byte(1 + r.IntN(255))
			return data
		},
		"a page over another": func(r *rand.Rand, data []byte) []byte {
			copy(anyPage(r, data), anyPage(r, data))
			return data
		},
		"cut short": func(r *rand.Rand, data []byte) []byte { return data[:1+r.IntN(len(data)-1)] },
	}
}

// Whatever happens to a file: the cluster opens with every document in it, or
// is refused in one line that says where it is damaged, and nothing panics.
func TestDamage(t *testing.T) {
	whole := sample(t)
	runs := 25
	if testing.Short() {
		runs = 8
	}
	for name, harm := range harms() {
		t.Run(name, func(t *testing.T) {
			r, refused := rand.New(rand.NewPCG(11, 4)), 0
			for range runs {
				dir := t.TempDir()
				put(t, dir, harm(r, bytes.Clone(whole)))
				if refusal(t, dir) != nil {
					refused++
				}
			}
			t.Logf("%d of %d refused", refused, runs)
			if refused == 0 {
				t.Error("none was noticed")
			}
		})
	}
}

// refusal opens a directory, and returns why that is refused. If it is not, no
// document is missing.
func refusal(t *testing.T, dir string) error {
	t.Helper()
	path := filepath.Join(dir, disk.FileName)
	before := read(t, path)
	c, err := mock.New(mock.Config{DBPath: dir})
	if err != nil {
		if strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), path) {
			t.Errorf("not a line that names the file: %v", err)
		}
		if !bytes.Equal(before, read(t, path)) {
			t.Error("the file was changed")
		}
		return err
	}
	opened := &cluster{t, c, router.New(c, nil)}
	if n := len(opened.found()); n != documents {
		t.Errorf("it opens with %d of %d documents", n, documents)
	}
	c.Close()
	return nil
}

// A document whose bytes have changed is named, with the place where it lies and
// with what can be done.
func TestDamagedDocument(t *testing.T) {
	data := sample(t)
	at := bytes.LastIndex(data, []byte(text(77)))
	data[at+100] ^= 1
	dir := t.TempDir()
	put(t, dir, data)
	err := refusal(t, dir)
	var damage *disk.DamageError
	if !errors.As(err, &damage) || damage.More != 0 {
		t.Fatal(err)
	}
	for _, want := range []string{
		fmt.Sprintf("page %d, ", at/4096), "documents of app.c on shard1", `(its _id reads {"$numberInt":"77"})`,
		"its checksum is wrong", "put back a copy of the file, or remove it",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("it does not say %q: %v", want, err)
		}
	}
}

// What was the newest state, and is no more, is noticed: each page is as it was
// written once.
func TestOldState(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir)
	c.run("app", doc("insert", "c", "documents", bson.A{doc("_id", 1)}))
	c.Close()
	path := filepath.Join(dir, disk.FileName)
	data := read(t, path)
	newer := 0
	if bytes.Compare(data[16+48:16+56], data[4096+16+48:4096+16+56]) < 0 {
		newer = 4096
	}
	clear(data[newer : newer+4096])
	put(t, dir, data)
	if refusal(t, dir) == nil {
		t.Error("the state before the last change counts as the newest")
	}
}

// An empty file where a cluster was is not the beginning of a new one.
func TestEmptyFile(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, nil)
	if err := refusal(t, dir); !errors.Is(err, disk.ErrEmpty) {
		t.Errorf("an empty file: %v", err)
	}
}

// A file without checksums, as older programs have written it, opens, and has
// them from then on.
func TestFormat1(t *testing.T) {
	packed, err := os.Open("testdata/format1.db.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	unpacked, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	put(t, dir, data)
	for range 2 {
		c := open(t, dir)
		reply := c.run("app", doc("aggregate", "orders", "cursor", doc(), "pipeline", bson.A{
			doc("$group", doc("_id", nil, "n", doc("$sum", 1), "sum", doc("$sum", "$customer"))),
		}))
		sums := reply.Lookup("cursor", "firstBatch", "0")
		if sums.Document().Lookup("n").AsInt64() != 100 || sums.Document().Lookup("sum").AsInt64() != 99*100/2 {
			t.Errorf("the orders are %s", sums)
		}
		reply = c.run("app", doc("listIndexes", "plain"))
		if _, err := reply.LookupErr("cursor", "firstBatch", "1"); err != nil {
			t.Errorf("the index is lost: %s", reply)
		}
		c.Lock()
		if err := c.CheckInvariants(); err != nil {
			t.Error(err)
		}
		c.Unlock()
		c.Close()
	}
	stored := read(t, filepath.Join(dir, disk.FileName))
	stored[bytes.LastIndex(stored, []byte("order 42"))+7] = '3'
	put(t, dir, stored)
	if refusal(t, dir) == nil {
		t.Error("the upgraded file has no checksums")
	}
}

package routertest

import (
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
)

// BulkWriteCommand returns a bulkWrite on doc1.e and other.c.
func BulkWriteCommand(ops bson.A, more ...any) bson.D {
	return append(D("bulkWrite", 1, "ops", ops, "nsInfo", bson.A{D("ns", "doc1.e"), D("ns", "other.c")}), D(more...)...)
}

// RelaxedJSON returns a value as relaxed extended JSON.
func RelaxedJSON(t *testing.T, v bson.RawValue) string {
	t.Helper()
	raw, err := bson.MarshalExtJSON(bson.D{{Key: "v", Value: v}}, false, false)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(strings.TrimPrefix(string(raw), `{"v":`), "}")
}

// CheckRefusals runs commands that must fail with the given code and change nothing.
func (t *Tester) CheckRefusals(db string, list []Refusal) {
	t.T.Helper()
	for _, tt := range list {
		before := t.ConfigText()
		if code := t.Code(db, tt.Command); code != tt.Code {
			t.T.Errorf("%v: code %d, want %d", tt.Command, code, tt.Code)
		}
		if t.ConfigText() != before {
			t.T.Errorf("%v was refused and changed something", tt.Command)
		}
	}
}

// Refusal is a command and the error code with which it must fail. It is an alias of an unnamed struct
// so that slice literals need no field names.
type Refusal = struct {
	Command bson.D
	Code    int
}

// First returns the first document of the reply of a find or aggregate, nil if there is none.
func (t *Tester) First(db string, command bson.D) bson.Raw {
	t.T.Helper()
	doc, _ := t.OK(db, command).Lookup("cursor", "firstBatch", "0").DocumentOK()
	return doc
}

// CheckInvariants checks the invariants of the cluster.
func (t *Tester) CheckInvariants() {
	t.T.Helper()
	t.Cluster.Lock()
	defer t.Cluster.Unlock()
	if err := t.Cluster.CheckInvariants(); err != nil {
		t.T.Error(err)
	}
}

// IDs returns the _ids in the reply of a find or aggregate.
func (t *Tester) IDs(db string, command bson.D) []any {
	t.T.Helper()
	values, err := t.OK(db, command).Lookup("cursor", "firstBatch").Array().Values()
	if err != nil {
		t.T.Fatal(err)
	}
	list := []any{}
	for _, v := range values {
		var id any
		if err := v.Document().Lookup("_id").Unmarshal(&id); err != nil {
			t.T.Fatal(err)
		}
		list = append(list, id)
	}
	return list
}

// Same reports whether got has exactly the wanted values; an int stands for an int32.
func Same(got []any, want ...any) bool {
	if len(got) != len(want) {
		return false
	}
	for i := range got {
		if n, isInt := want[i].(int); isInt {
			want[i] = int32(n)
		}
		if got[i] != want[i] {
			return false
		}
	}
	return true
}

// Migrations returns the migrations of the cluster.
func (t *Tester) Migrations() []mock.MigrationInfo {
	t.Cluster.Lock()
	defer t.Cluster.Unlock()
	return t.Cluster.Migrations().List()
}

// LSID returns the id of the n-th session.
func LSID(n byte) bson.D {
	id := make([]byte, 16)
	id[15] = n
	return D("id", bson.Binary{Subtype: bson.TypeBinaryUUID, Data: id})
}

// Watch opens a change stream and returns the id of its cursor.
func (t *Tester) Watch(db string, coll any, options bson.D, rest ...any) int64 {
	t.T.Helper()
	pipeline := append(bson.A{D("$changeStream", options)}, rest...)
	return t.OK(db, D("aggregate", coll, "pipeline", pipeline, "cursor", D())).Lookup("cursor", "id").AsInt64()
}

// CodesOfRuns runs a command n times on the database db and returns the error codes, 0 for success.
func (t *Tester) CodesOfRuns(command bson.D, n int) []int64 {
	t.T.Helper()
	var codes []int64
	for range n {
		code, _ := t.Run("db", command).Lookup("code").AsInt64OK()
		codes = append(codes, code)
	}
	return codes
}

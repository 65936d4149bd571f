package mock_test

import (
	"reflect"
	"strings"
	"testing"

	"shardsh/balancer/mock"
)

// A topology means the same, and is refused in the same words, whether the quick way
// of reading chunks serves for it or not: it does not for a name with an escape.
func TestTopologyIsReadAlikeInBothWays(t *testing.T) {
	const around = `{"shards": [{"id": "a"}, {"id": "b"}], "settings": {"chunkSizeMB": 64}, "collections": [
  {"ns": "x.y", "key": {"k": 1}, "chunks": [CHUNKS], "noBalance": true}, {"ns": "x.z", "key": {"k": 1}}]}`
	for _, chunks := range []string{
		`], "Chunks": [{"shard": "b"}`, `]}], "Collections": [{"ns": "x.q", "key": {"k": 1}, "chunks": [{"shard": "b"}`,
		`{"shard": "a"}`, `{"shard":"a","docs":3,"bytes":"1MiB","jumbo":true},{"min":{"k":5},"shard":"b"}`, ``,
		`{"shard": "a", "max": {"k": "$x"}}, {"shard": "b", "jumbo": false, "bytes": 17}`,
		`{"shard": "a", "max": {"k": {"$numberLong": "-5"}}}, {"shard": "b"}`,
		`{"min": {"k": {"$date": "2026-01-01T00:00:00Z"}}, "shard": "b"}`,
		`{"shard": "a", "bytes": null, "min": null}`, `{"Shard": "a"}`, `{"shard": "\u0061"}`, `{"shard": "ä"}`,
		`{"shard": "a", "docs": 1e3}`, `{"shard": "a", "docs": "3"}`, `{"shard": 5}`, `{"shard": "a", "size": 3}`,
		`{"shard": "a", "min": {"k": 01}}`, `{"shard": "a", "min": {"k": }}`, `{"shard": "a"},`, `{"shard": "a"`,
		`[]`, `null`,
		`{"shard": "a", "shard": "b"}`, `{"shard": "a", "docs": 99999999999999999999}`, `{"shard": "a"} {"shard": "b"}`,
	} {
		text := strings.Replace(around, "CHUNKS", chunks, 1)
		quick, errQuick := mock.ParseTopology([]byte(text))
		other, errOther := mock.ParseTopology([]byte(strings.Replace(text, `"settings"`, `"\u0073ettings"`, 1)))
		if (errQuick == nil) != (errOther == nil) || errQuick != nil && errQuick.Error() != errOther.Error() {
			t.Errorf("%s: %v, or %v", chunks, errQuick, errOther)
		}
		if errQuick == nil && !reflect.DeepEqual(quick, other) {
			t.Errorf("%s: %+v, or %+v", chunks, quick, other)
		}
	}
}

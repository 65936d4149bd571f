package values

import (
	"strconv"
	"strings"

	"github.com/dop251/goja"

	"shardsh/bindings/rawdoc"
)

// fieldOrder is the order of fields in a server's document. JavaScript moves integer-like names to the
// front of any object, which would reorder index keys and compound shard keys
// (rules/04-outputs-and-traps §10, trap 8).
type fieldOrder struct {
	names []string
}

// orderWatch detects, while a document is read, that JavaScript will not preserve its order.
type orderWatch struct {
	lastIndex int64 // last index; -1 before the first
	nameSeen  bool  // a name that is no index has occurred
	orderLost bool
}

func (o *orderWatch) note(key string) {
	n, isIndex := arrayIndex(key)
	if !isIndex {
		o.nameSeen = true
		return
	}
	if o.nameSeen || n < o.lastIndex {
		o.orderLost = true
	}
	o.lastIndex = n
}

// arrayIndex parses an array index of JavaScript: digits without leading zeros, below 2³²−1.
func arrayIndex(key string) (int64, bool) {
	if len(key) == 0 || len(key) > 10 || key[0] < '0' || key[0] > '9' || key[0] == '0' && len(key) > 1 {
		return 0, false
	}
	n, err := strconv.ParseInt(key, 10, 64)
	return n, err == nil && n < 1<<32-1
}

// namesOf returns the names of the elements in body.
func namesOf(body []byte) (names []string) {
	for len(body) > 0 {
		_, key, _, rest, ok := rawdoc.NextElement(body)
		if !ok {
			break
		}
		names = append(names, strings.Clone(string(key)))
		body = rest
	}
	return names
}

// KeepsOrder reports whether the fields of v are in their original order, whatever their names. This
// holds for a Map, and for a document from a server to which no field was added.
func (w *Realm) KeepsOrder(v goja.Value) bool {
	o, ok := v.(*goja.Object)
	if !ok {
		return false
	}
	if isMap(o) {
		return true
	}
	order := w.fields.orderOf(o)
	return order != nil && len(order.arrange(o.Keys())) == len(order.names)
}

func (order *fieldOrder) arrange(names []string) []string {
	left := make(map[string]bool, len(names))
	for _, n := range names {
		left[n] = true
	}
	arranged := make([]string, 0, len(names))
	for _, n := range order.names {
		if left[n] {
			arranged = append(arranged, n)
			delete(left, n)
		}
	}
	for _, n := range names {
		if left[n] {
			arranged = append(arranged, n)
		}
	}
	return arranged
}

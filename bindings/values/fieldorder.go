package values

import (
	"strconv"
	"strings"

	"github.com/dop251/goja"

	"shardsh/bindings/rawdoc"
)

// fieldOrder is the order a server's document had its fields in. JavaScript moves
// integer-like names to the front of any object, which would reorder index keys
// and compound shard keys (rules/04-outputs-and-traps §10, trap 8).
type fieldOrder struct {
	names []string
}

// orderWatch detects, while a document is read, that JavaScript will not keep its
// order.
type orderWatch struct {
	highest   int64 // index seen last; -1 before the first
	named     bool  // a name that is not an index was seen
	orderLost bool
}

func (o *orderWatch) note(key string) {
	n, isIndex := arrayIndex(key)
	if !isIndex {
		o.named = true
		return
	}
	if o.named || n < o.highest {
		o.orderLost = true
	}
	o.highest = n
}

// arrayIndex reads what JavaScript takes for an array index: digits without
// leading zeros, below 2³²−1.
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

// KeepsOrder reports whether the fields of v are in the order they were given
// in, whatever their names: a Map's are, and those of a document from a server
// that was not added to.
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

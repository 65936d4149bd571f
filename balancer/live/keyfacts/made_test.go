package keyfacts_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// maker makes the documents and queries of a collection; what differs from one to the
// next of the same kind is drawn.
type maker struct {
	*rand.Rand
	docs   int
	shards int
	hot    float64 // share of the documents that a hot value has
	many   int     // values of a field that has many, but not one for each document
	few    int     // and of one that has few
}

func newMaker(seed uint64, docs int) *maker {
	m := &maker{Rand: rand.New(rand.NewPCG(seed, 14)), docs: docs}
	m.shards = 3 + m.IntN(4)
	m.hot = 0.4 + 0.3*m.Float64()
	m.many = docs/10 + m.IntN(docs/10)
	m.few = 3 + m.IntN(5)
	return m
}

func d(pairs ...any) bson.D {
	doc := bson.D{}
	for i := 0; i < len(pairs); i += 2 {
		doc = append(doc, bson.E{Key: pairs[i].(string), Value: pairs[i+1]})
	}
	return doc
}

func (m *maker) uuid() string { return fmt.Sprintf("%016x%016x", m.Uint64(), m.Uint64()) }

// id is the ObjectId of the i-th document, as a driver makes them one after another.
func id(i int) bson.ObjectID {
	o := bson.NewObjectIDFromTimestamp(began.Add(time.Duration(i) * 3 * time.Second))
	copy(o[4:], []byte{1, 2, 3, 4, 5, 0, byte(i >> 8), byte(i)})
	return o
}

var began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(i int) bson.DateTime {
	return bson.NewDateTimeFromTime(began.Add(time.Duration(i) * time.Minute))
}

// value is one of n values whose order has nothing to do with their number.
func value(prefix string, i int) string {
	return fmt.Sprintf("%s%08x", prefix, uint32(i+1)*2654435761)
}

// hotOr is the hot value, or one of n others.
func (m *maker) hotOr(prefix string, n int) string {
	if m.Float64() < m.hot {
		return value(prefix, -1)
	}
	return value(prefix, m.IntN(n))
}

// made is a kind of collection whose right key is known.
type made struct {
	name    string
	doc     func(m *maker, i int) bson.D
	indexes []bson.D
	unique  []bson.D
	zones   []string // of country, in this order
	query   func(m *maker, docs []bson.D) bson.D
	// right are the keys that are right, by the guidance of MongoDB's manual on choosing
	// a shard key: cardinality, frequency, monotonicity, queries.
	right []string
}

// of draws the value that a document has in a field.
func of(m *maker, docs []bson.D, name string) any {
	doc := docs[m.IntN(len(docs))]
	for _, e := range doc {
		if e.Key == name {
			return e.Value
		}
	}
	return nil
}

// both draws the values of one document.
func both(m *maker, docs []bson.D, names ...string) bson.D {
	doc, filter := docs[m.IntN(len(docs))], bson.D{}
	for _, name := range names {
		filter = append(filter, bson.E{Key: name, Value: of(m, []bson.D{doc}, name)})
	}
	return filter
}

// collections are the kinds.
func collections() []made {
	return []made{
		{
			name:  "a counter as _id",
			doc:   func(m *maker, i int) bson.D { return d("_id", i, "note", m.uuid()) },
			query: func(m *maker, docs []bson.D) bson.D { return both(m, docs, "_id") },
			right: []string{`{_id: "hashed"}`},
		}, {
			name:    "ObjectIds and a time",
			doc:     func(m *maker, i int) bson.D { return d("_id", id(i), "at", at(i), "state", m.IntN(m.few)) },
			indexes: []bson.D{d("at", 1)},
			query: func(m *maker, docs []bson.D) bson.D {
				if m.Float64() < 0.2 {
					return d("at", d("$gte", of(m, docs, "at")))
				}
				return both(m, docs, "_id")
			},
			right: []string{`{_id: "hashed"}`},
		}, {
			name: "low cardinality beside a customer",
			doc: func(m *maker, i int) bson.D {
				return d("_id", id(i), "state", value("s", m.IntN(m.few)), "customer", value("c", m.IntN(m.docs/2)))
			},
			indexes: []bson.D{d("state", 1), d("customer", 1)},
			query: func(m *maker, docs []bson.D) bson.D {
				if m.Float64() < 0.3 {
					return both(m, docs, "state")
				}
				return both(m, docs, "customer")
			},
			right: []string{`{customer: 1}`, `{customer: 1, _id: 1}`},
		}, {
			name: "one hot customer",
			doc: func(m *maker, i int) bson.D {
				return d("_id", id(i), "customer", m.hotOr("c", m.many), "order", m.uuid())
			},
			indexes: []bson.D{d("customer", 1, "order", 1)},
			query: func(m *maker, docs []bson.D) bson.D {
				if m.Float64() < 0.5 {
					return both(m, docs, "customer")
				}
				return both(m, docs, "customer", "order")
			},
			right: []string{`{customer: 1, order: 1}`},
		}, {
			name: "few regions, saved by the user",
			doc: func(m *maker, i int) bson.D {
				user := m.IntN(m.docs * 1000)
				return d("_id", id(i), "region", value("r", user%m.few), "user", value("u", user))
			},
			indexes: []bson.D{d("region", 1, "user", 1)},
			query: func(m *maker, docs []bson.D) bson.D {
				if m.Float64() < 0.5 {
					return both(m, docs, "region")
				}
				return both(m, docs, "region", "user")
			},
			right: []string{`{region: 1, user: 1}`},
		}, {
			name:    "ranges of prices, which a hash would hurt",
			doc:     func(m *maker, i int) bson.D { return d("_id", id(i), "price", m.IntN(50*m.docs)) },
			indexes: []bson.D{d("price", 1)},
			query: func(m *maker, docs []bson.D) bson.D {
				if m.Float64() < 0.2 {
					return both(m, docs, "_id")
				}
				from := m.IntN(40 * m.docs)
				return d("price", d("$gte", from, "$lt", from+5*m.docs))
			},
			right: []string{`{price: 1}`},
		}, {
			name: "GridFS",
			doc: func(m *maker, i int) bson.D {
				return d("_id", id(i), "files_id", id(i/(m.few+5)), "n", i%(m.few+5), "data", make([]byte, 200))
			},
			unique: []bson.D{d("files_id", 1, "n", 1)},
			query: func(m *maker, docs []bson.D) bson.D {
				if m.Float64() < 0.5 {
					return both(m, docs, "files_id")
				}
				return both(m, docs, "files_id", "n")
			},
			right: []string{`{files_id: 1, n: 1}`},
		}, {
			name: "tenants, one of them a giant",
			doc: func(m *maker, i int) bson.D {
				// A giant has more than all others together.
				tenant := m.hotOr("t", m.few*5)
				if m.Float64() < 0.2 {
					tenant = value("t", -1)
				}
				return d("_id", id(i), "tenant", tenant, "at", at(i))
			},
			indexes: []bson.D{d("tenant", 1, "at", 1)},
			query: func(m *maker, docs []bson.D) bson.D {
				if m.Float64() < 0.3 {
					return both(m, docs, "tenant")
				}
				return append(both(m, docs, "tenant"), bson.E{Key: "at", Value: d("$gte", at(m.docs-m.IntN(m.docs/10)))})
			},
			right: []string{`{tenant: 1, _id: "hashed"}`},
		}, {
			name: "a time series by device",
			doc: func(m *maker, i int) bson.D {
				return d("_id", id(i), "device", value("d", m.IntN(m.many)), "ts", at(i), "value", m.Float64())
			},
			indexes: []bson.D{d("device", 1, "ts", 1)},
			query: func(m *maker, docs []bson.D) bson.D {
				from := m.IntN(m.docs)
				return append(both(m, docs, "device"), bson.E{Key: "ts", Value: d("$gte", at(from), "$lt", at(from+m.docs/20))})
			},
			right: []string{`{device: 1, ts: 1}`},
		}, {
			name:   "random uuids",
			doc:    func(m *maker, i int) bson.D { return d("_id", id(i), "uuid", m.uuid(), "state", m.IntN(m.few)) },
			unique: []bson.D{d("uuid", 1)},
			query:  func(m *maker, docs []bson.D) bson.D { return both(m, docs, "uuid") },
			right:  []string{`{uuid: 1}`},
		}, {
			name: "an address that half of them lack",
			doc: func(m *maker, i int) bson.D {
				doc := d("_id", id(i), "user", value("u", i))
				if m.Float64() < 0.5 {
					doc = append(doc, bson.E{Key: "mail", Value: m.uuid()})
				}
				return doc
			},
			indexes: []bson.D{d("mail", 1), d("user", 1)},
			query: func(m *maker, docs []bson.D) bson.D {
				if m.Float64() < 0.7 {
					return both(m, docs, "user")
				}
				return d("mail", m.uuid())
			},
			right: []string{`{user: 1}`},
		}, {
			name: "arrays",
			doc: func(m *maker, i int) bson.D {
				return d("_id", id(i), "tags", bson.A{value("t", m.IntN(m.many)), value("t", m.IntN(m.many))}, "sku", m.uuid())
			},
			indexes: []bson.D{d("tags", 1), d("sku", 1)},
			query: func(m *maker, docs []bson.D) bson.D {
				if m.Float64() < 0.6 {
					return d("tags", value("t", m.IntN(m.many)))
				}
				return both(m, docs, "sku")
			},
			right: []string{`{sku: 1}`},
		}, {
			name: "zones by country",
			doc: func(m *maker, i int) bson.D {
				return d("_id", id(i), "country", []string{"BR", "DE", "FR", "US"}[m.IntN(4)], "user", m.uuid())
			},
			indexes: []bson.D{d("country", 1, "user", 1), d("user", 1)},
			zones:   []string{"BR", "DE"},
			query:   func(m *maker, docs []bson.D) bson.D { return both(m, docs, "user") },
			right:   []string{`{country: 1, user: 1}`},
		}, {
			name: "a unique address in the way",
			doc: func(m *maker, i int) bson.D {
				return d("_id", id(i), "mail", m.uuid(), "team", value("t", m.IntN(m.many)))
			},
			indexes: []bson.D{d("team", 1)},
			unique:  []bson.D{d("mail", 1)},
			query: func(m *maker, docs []bson.D) bson.D {
				if m.Float64() < 0.4 {
					return both(m, docs, "team")
				}
				return both(m, docs, "mail")
			},
			right: []string{`{mail: 1}`},
		}, {
			name: "numbers of receipts by shop",
			doc: func(m *maker, i int) bson.D {
				shop := m.IntN(m.many)
				return d("_id", id(i), "shop", value("s", shop), "number", i, "total", m.Float64())
			},
			unique: []bson.D{d("shop", 1, "number", 1)},
			query: func(m *maker, docs []bson.D) bson.D {
				if m.Float64() < 0.5 {
					return both(m, docs, "shop")
				}
				return both(m, docs, "shop", "number")
			},
			right: []string{`{shop: 1, number: 1}`},
		},
	}
}

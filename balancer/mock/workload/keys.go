package workload

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"sort"
	"strconv"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// Workload draws operations. Its keys are independent of later changes of the chunks.
type Workload struct {
	Spec
	distribution      keyDistribution
	pattern           catalog.KeyPattern
	keys              []key
	weights           []float64 // of keys[i] at the beginning of a day
	cumulativeWeights []float64 // sums of the weights up to keys[i]
	// insertedDocs is the number of inserted documents, which follow the last chunk's lower bound for the
	// distribution "latest".
	insertedDocs int64
	rand         *rand.Rand
}

// key is a shard key and a filter for it.
type key struct {
	key    catalog.Key
	filter bson.Raw
}

// New returns a workload for a collection with the given chunks.
func New(s Spec, t *catalog.RoutingTable, r *rand.Rand) (*Workload, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	if s.Mix.Sum() == 0 {
		s.Mix.Reads = 1
	}
	if s.KeyCount == 0 {
		s.KeyCount = 10_000
	}
	if s.DocumentBytes == 0 {
		s.DocumentBytes = 1 << 10
	}
	w := &Workload{Spec: s, pattern: t.Pattern(), rand: r}
	w.distribution, _ = parseKeyDistribution(s.KeyDistribution)
	if err := w.makeKeys(t); err != nil {
		return nil, err
	}
	w.computeWeights()
	return w, nil
}

// makeKeys distributes keys evenly over the chunks. For a hashed key they are the hashes of 0, 1, 2, ….
func (w *Workload) makeKeys(t *catalog.RoutingTable) error {
	if w.pattern.HashedField() >= 0 {
		for i := range w.KeyCount {
			doc := bson.D{}
			for _, name := range w.pattern.Fields() {
				doc = append(doc, bson.E{Key: name, Value: int64(i)})
			}
			if err := w.addKey(doc); err != nil {
				return err
			}
		}
		return nil
	}
	for i := range w.KeyCount {
		at := (float64(i) + 0.5) / float64(w.KeyCount) * float64(t.Len())
		chunk := t.At(min(int(at), t.Len()-1))
		k, ok := w.pattern.KeyAtFraction(chunk.Min, chunk.Max, at-math.Floor(at))
		if !ok {
			k = chunk.Min
		}
		if err := w.addKey(w.document(k)); err != nil {
			return err
		}
	}
	return nil
}

func (w *Workload) document(k catalog.Key) bson.D {
	doc, values := bson.D{}, k.Values()
	for i, name := range w.pattern.Fields() {
		doc = append(doc, bson.E{Key: name, Value: values[i]})
	}
	return doc
}

func (w *Workload) addKey(doc bson.D) error {
	raw, err := bson.Marshal(doc)
	if err != nil {
		return err
	}
	k, ok := w.pattern.QueryKey(raw)
	if ok {
		w.keys = append(w.keys, key{k, raw})
	}
	return nil
}

// computeWeights computes how often each key is used.
func (w *Workload) computeWeights() {
	n := len(w.keys)
	w.weights, w.cumulativeWeights = make([]float64, n), make([]float64, n)
	switch w.distribution.name {
	case "zipf": // the ranks are scattered over the keys
		for rank, i := range rand.New(rand.NewPCG(1, 2)).Perm(n) {
			w.weights[i] = math.Pow(float64(rank+1), -w.distribution.args[0])
		}
	case "hot":
		hot := max(1, int(w.distribution.args[0]*float64(n)))
		for i := range n {
			w.weights[i] = (1 - w.distribution.args[1]) / float64(max(1, n-hot))
			if i < hot {
				w.weights[i] = w.distribution.args[1] / float64(hot)
			}
		}
	case "key":
		for i := range n {
			w.weights[i] = (1 - w.distribution.args[0]) / float64(max(1, n-1))
		}
		w.weights[n/3] = w.distribution.args[0]
	case "latest": // the newest twentieth has half of the operations
		for i := range n {
			w.weights[i] = math.Pow(0.5, float64(n-1-i)/float64(n)*20)
		}
	default:
		for i := range n {
			w.weights[i] = 1
		}
	}
	var sum float64
	for i, weight := range w.weights {
		sum += weight
		w.cumulativeWeights[i] = sum
	}
}

// HottestShare returns the share of the most frequent key.
func (w *Workload) HottestShare() float64 {
	return slices.Max(w.weights) / w.cumulativeWeights[len(w.cumulativeWeights)-1]
}

// hotShift returns the number of keys by which the hot range has moved.
func (w *Workload) hotShift(at time.Time) int {
	if w.HotRangeDrift == "" {
		return 0
	}
	return int(dayPart(at) * float64(len(w.keys)))
}

// draw returns a random key.
func (w *Workload) draw(at time.Time) key {
	i := sort.SearchFloat64s(w.cumulativeWeights, w.rand.Float64()*w.cumulativeWeights[len(w.cumulativeWeights)-1])
	return w.keys[(min(i, len(w.keys)-1)+w.hotShift(at))%len(w.keys)]
}

// latestKey returns a key above the last chunk's lower bound and all keys that it returned before.
func (w *Workload) latestKey(lastChunkMin catalog.Key) key {
	values := lastChunkMin.Values()
	doc := bson.D{}
	for i, name := range w.pattern.Fields() {
		var v any = w.insertedDocs
		if i < len(values) {
			v = valueAfter(values[i], w.insertedDocs)
		}
		doc = append(doc, bson.E{Key: name, Value: v})
	}
	raw, err := bson.Marshal(doc)
	if err != nil {
		return key{}
	}
	k, _ := w.pattern.QueryKey(raw)
	return key{k, raw}
}

// valueAfter returns a value greater than the last chunk's lower bound: the greater n, the greater the
// value. It has the bound's type if there can be enough such values.
func valueAfter(v bson.RawValue, n int64) any {
	switch v.Type {
	case bson.TypeInt32, bson.TypeInt64, bson.TypeDouble:
		f, _ := v.AsFloat64OK()
		return int64(f) + 1 + n
	case bson.TypeDecimal128:
		f, _ := strconv.ParseFloat(v.Decimal128().String(), 64)
		return int64(f) + 1 + n
	case bson.TypeString:
		return fmt.Sprintf("%s~%018d", v.StringValue(), n)
	case bson.TypeBinary:
		subtype, data := v.Binary()
		return bson.Binary{Subtype: subtype, Data: addAtEnd(data, n)}
	case bson.TypeObjectID:
		id := v.ObjectID()
		return bson.ObjectID(addAtEnd(id[:], n))
	case bson.TypeDateTime:
		return bson.DateTime(v.DateTime() + 1 + n)
	case bson.TypeMinKey, bson.TypeNull:
		return n
	}
	return bson.Timestamp{T: math.MaxUint32, I: uint32(n)}
}

// addAtEnd returns bytes that are greater by n+1 as a number, or the greatest.
func addAtEnd(data []byte, n int64) []byte {
	sum := new(big.Int).SetBytes(data)
	if sum.Add(sum, big.NewInt(n+1)).BitLen() > 8*len(data) {
		return bytes.Repeat([]byte{0xff}, len(data))
	}
	return sum.FillBytes(make([]byte, len(data)))
}

package expr

import (
	"math"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/quota"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
	"shardsh/balancer/mongoerr"
)

// Accumulator aggregates the values of a group or of an array.
type Accumulator interface {
	Add(w *quota.Meter, args []value.Value) error
	Result(w *quota.Meter) value.Value
}

// MemoryHolder is an accumulator that retains values. MemoryBytes returns their size in bytes.
type MemoryHolder interface{ MemoryBytes() int }

// memoryCounter counts the bytes that an accumulator retains, up to the memory limit of a stage.
type memoryCounter struct {
	op    string
	bytes int
}

func (m *memoryCounter) MemoryBytes() int { return m.bytes }

func (m *memoryCounter) addBytes(n int) error {
	if m.bytes += n; m.bytes > quota.StageMemory {
		return errAccumulatorTooLarge(m.op)
	}
	return nil
}

// AccumulatorSpec is a compiled accumulator of $group: its arguments for each
// document, and its constructor.
type AccumulatorSpec struct {
	Args []Expression
	New  func(c *Evaluation) (Accumulator, error)
}

// expressionAccumulators also work as expressions, over their arguments or over the elements of a single array
// argument.
var expressionAccumulators = map[string]func() Accumulator{
	"$sum": func() Accumulator { return &Sum{} },
	"$avg": func() Accumulator { return &average{} },
	"$min": func() Accumulator { return &extreme{sign: -1} },
	"$max": func() Accumulator { return &extreme{sign: 1} },

	"$stdDevPop":  func() Accumulator { return &deviation{} },
	"$stdDevSamp": func() Accumulator { return &deviation{sample: true} },
}

// groupAccumulators work only on groups.
var groupAccumulators = map[string]func() Accumulator{
	"$first": func() Accumulator { return &firstOf{} },
	"$last":  func() Accumulator { return &lastOf{} },
	"$push":  func() Accumulator { return &pushAll{memoryCounter: memoryCounter{op: "$push"}} },

	"$addToSet": func() Accumulator {
		return &setOf{memoryCounter: memoryCounter{op: "$addToSet"}, seen: map[string]bool{}}
	},
	"$mergeObjects": newMergedObject,
}

// Sum adds numbers and ignores other values. Integers are exact as long as they fit in 64 bits; doubles
// are summed with Kahan compensation.
type Sum struct {
	intSum                  int64
	hasInt64                bool // an integer was an int64
	overflowed              bool // the integers exceeded 64 bits
	hasDouble               bool
	doubleSum, compensation float64
	decimalSum              *bson.Decimal128
	nonFiniteSum            float64 // sum of infinities and NaN
	count                   int64
}

// Add adds a number; other values are ignored.
func (s *Sum) Add(_ *quota.Meter, args []value.Value) error {
	v := args[0]
	if !value.IsNumber(v) {
		return nil
	}
	s.count++
	switch v.Type {
	case bson.TypeDecimal128:
		d := value.DecimalAt(v.Value)
		if s.decimalSum != nil {
			d = value.DecimalAdd(*s.decimalSum, d)
		}
		s.decimalSum = &d
	case bson.TypeDouble:
		s.hasDouble = true
		s.addDouble(value.DoubleAt(v.Value))
	default:
		s.hasInt64 = s.hasInt64 || v.Type == bson.TypeInt64
		n := value.ToInteger(v)
		sum, ok := value.AddInt64(s.intSum, n)
		if !ok {
			s.overflowed = true
			s.addDouble(float64(s.intSum))
			sum = n
		}
		s.intSum = sum
	}
	return nil
}

func (s *Sum) addDouble(f float64) {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		s.nonFiniteSum += f
		return
	}
	t := s.doubleSum + f
	if math.Abs(s.doubleSum) >= math.Abs(f) {
		s.compensation += s.doubleSum - t + f
	} else {
		s.compensation += f - t + s.doubleSum
	}
	s.doubleSum = t
}

func (s *Sum) asFloat() float64 {
	if s.nonFiniteSum != 0 {
		return s.nonFiniteSum
	}
	total := *s
	total.addDouble(float64(s.intSum))
	return total.doubleSum + total.compensation
}

// exactDoubleSum returns the sum of the doubles with all its digits.
func (s *Sum) exactDoubleSum() bson.Decimal128 {
	if s.nonFiniteSum != 0 { // true for NaN, too
		return value.DecimalOfDouble(s.nonFiniteSum)
	}
	return value.DecimalAdd(value.ExactDecimal(s.doubleSum), value.ExactDecimal(s.compensation))
}

// Result returns the sum so far.
func (s *Sum) Result(*quota.Meter) value.Value {
	switch {
	case s.decimalSum != nil:
		d := *s.decimalSum
		if s.intSum != 0 {
			d = value.DecimalAdd(d, value.DecimalOfInt(s.intSum))
		}
		if s.hasDouble || s.overflowed {
			d = value.DecimalAdd(d, s.exactDoubleSum())
		}
		return value.Decimal(d)
	case s.hasDouble || s.overflowed:
		return value.Double(s.asFloat())
	case s.hasInt64:
		return value.Int64(s.intSum)
	}
	return value.SmallestInt(s.intSum)
}

type average struct{ Sum }

func (a *average) Result(*quota.Meter) value.Value {
	switch {
	case a.count == 0:
		return value.Null()
	case a.decimalSum != nil:
		return value.Decimal(value.DecimalDivide(value.ToDecimal(a.Sum.Result(nil)), value.DecimalOfInt(a.count)))
	}
	return value.Double(a.asFloat() / float64(a.count))
}

// extreme implements $min and $max. It ignores null and missing values.
type extreme struct {
	sign int
	best value.Value
}

func (e *extreme) Add(_ *quota.Meter, args []value.Value) error {
	v := args[0]
	if !value.IsNullish(v) && (value.IsMissing(e.best) || value.Compare(v, e.best)*e.sign > 0) {
		e.best = v
	}
	return nil
}

func (e *extreme) MemoryBytes() int { return len(e.best.Value) }

func (e *extreme) Result(*quota.Meter) value.Value { return OrNull(e.best) }

// OrNull returns v, or null if v is missing.
func OrNull(v value.Value) value.Value {
	if value.IsMissing(v) {
		return value.Null()
	}
	return v
}

// deviation implements $stdDevPop and $stdDevSamp with Welford's algorithm.
type deviation struct {
	sample   bool
	n        int64
	mean, m2 float64
}

func (d *deviation) Add(_ *quota.Meter, args []value.Value) error {
	if v := args[0]; value.IsNumber(v) {
		f := value.ToDouble(v)
		d.n++
		delta := f - d.mean
		if delta != 0 {
			d.mean += delta / float64(d.n)
			d.m2 += delta * (f - d.mean)
		}
	}
	return nil
}

func (d *deviation) Result(*quota.Meter) value.Value {
	n := d.n
	if d.sample {
		n--
	}
	if n <= 0 {
		return value.Null()
	}
	return value.Double(math.Sqrt(d.m2 / float64(n)))
}

type firstOf struct {
	v     value.Value
	isSet bool
}

func (f *firstOf) Add(_ *quota.Meter, args []value.Value) error {
	if !f.isSet {
		f.v, f.isSet = args[0], true
	}
	return nil
}

func (f *firstOf) MemoryBytes() int { return len(f.v.Value) }

func (f *firstOf) Result(*quota.Meter) value.Value { return OrNull(f.v) }

type lastOf struct{ v value.Value }

func (l *lastOf) Add(_ *quota.Meter, args []value.Value) error { l.v = args[0]; return nil }
func (l *lastOf) MemoryBytes() int                             { return len(l.v.Value) }
func (l *lastOf) Result(*quota.Meter) value.Value              { return OrNull(l.v) }

type pushAll struct {
	memoryCounter
	list []value.Value
}

func (p *pushAll) Add(_ *quota.Meter, args []value.Value) error {
	if value.IsMissing(args[0]) {
		return nil
	}
	p.list = append(p.list, args[0])
	return p.addBytes(len(args[0].Value) + quota.ItemOverheadBytes)
}

func (p *pushAll) Result(*quota.Meter) value.Value { return document.Array(p.list) }

type setOf struct {
	memoryCounter
	seen map[string]bool
	list []value.Value
}

func (s *setOf) Add(_ *quota.Meter, args []value.Value) error {
	v := args[0]
	if value.IsMissing(v) {
		return nil
	}
	key := value.EncodedKey(v)
	if s.seen[key] {
		return nil
	}
	s.seen[key] = true
	s.list = append(s.list, v)
	return s.addBytes(len(key) + len(v.Value) + quota.ItemOverheadBytes)
}

func (s *setOf) Result(*quota.Meter) value.Value { return document.Array(s.list) }

type mergedObject struct {
	fields  []document.Field
	indexes map[string]int // index of each field in fields
	bytes   int
}

func newMergedObject() Accumulator { return &mergedObject{indexes: map[string]int{}} }

func (m *mergedObject) Add(w *quota.Meter, args []value.Value) error {
	v := args[0]
	if value.IsNullish(v) {
		return nil
	}
	if !value.IsObject(v) {
		return servererr.NewCode(40400, "$mergeObjects requires object inputs, but input %s is of type %s", v,
			value.TypeName(v))
	}
	for name, f := range w.Fields(v.Value) {
		if i, ok := m.indexes[string(name)]; ok {
			m.bytes += len(f.Value) - len(m.fields[i].Value.Value)
			m.fields[i].Value = f
			continue
		}
		m.indexes[string(name)] = len(m.fields)
		m.fields = append(m.fields, document.Field{Name: string(name), Value: f})
		m.bytes += 2*len(name) + len(f.Value) + quota.ItemOverheadBytes
	}
	return nil
}

func (m *mergedObject) MemoryBytes() int { return m.bytes }

func (m *mergedObject) Result(*quota.Meter) value.Value {
	return value.Object(document.New(m.fields...))
}

func errAccumulatorTooLarge(op string) error {
	return servererr.New(mongoerr.ExceededMemoryLimit,
		"%s used too much memory and cannot spill to disk. Memory limit: %d bytes", op, quota.StageMemory)
}

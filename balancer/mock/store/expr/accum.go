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

// Accumulator gathers the values of a group, or of a list.
type Accumulator interface {
	Add(w *quota.Meter, args []value.Value) error
	Result(w *quota.Meter) value.Value
}

// KeepsValues is an accumulator that keeps what it is given, in bytes.
type KeepsValues interface{ Keeps() int }

// memoryCounter counts what an accumulator keeps, up to the limit of a stage.
type memoryCounter struct {
	op    string
	bytes int
}

func (k *memoryCounter) Keeps() int { return k.bytes }

func (k *memoryCounter) keep(n int) error {
	if k.bytes += n; k.bytes > quota.StageMemory {
		return accumulatorTooLarge(k.op)
	}
	return nil
}

// Accumulation is a compiled accumulator of $group: what it takes from each
// document, and how it starts.
type Accumulation struct {
	Args  []Expression
	Start func(c *Evaluation) (Accumulator, error)
}

// listAccumulators also work as expressions over their arguments or the
// elements of a single one.
var listAccumulators = map[string]func() Accumulator{
	"$sum": func() Accumulator { return &SumOf{} },
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

// SumOf adds numbers and ignores the rest. Integers are exact as long as they
// fit; doubles are summed with a second double for what rounding loses.
type SumOf struct {
	whole     int64
	long      bool // some integer was an int64
	spilled   bool // integers went beyond 64 bits
	double    bool
	sum, rest float64
	decimal   *bson.Decimal128
	special   float64 // sum of infinities and NaN
	count     int64
}

// Add takes a number; what is none does not count.
func (s *SumOf) Add(_ *quota.Meter, args []value.Value) error {
	v := args[0]
	if !value.IsNumber(v) {
		return nil
	}
	s.count++
	switch v.Type {
	case bson.TypeDecimal128:
		d := value.DecimalAt(v.Value)
		if s.decimal != nil {
			d = value.DecimalAdd(*s.decimal, d)
		}
		s.decimal = &d
	case bson.TypeDouble:
		s.double = true
		s.addDouble(value.DoubleAt(v.Value))
	default:
		s.long = s.long || v.Type == bson.TypeInt64
		n := value.ToInteger(v)
		sum, ok := value.AddInt64(s.whole, n)
		if !ok {
			s.spilled = true
			s.addDouble(float64(s.whole))
			sum = n
		}
		s.whole = sum
	}
	return nil
}

func (s *SumOf) addDouble(f float64) {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		s.special += f
		return
	}
	t := s.sum + f
	if math.Abs(s.sum) >= math.Abs(f) {
		s.rest += s.sum - t + f
	} else {
		s.rest += f - t + s.sum
	}
	s.sum = t
}

func (s *SumOf) float() float64 {
	if s.special != 0 {
		return s.special
	}
	whole := *s
	whole.addDouble(float64(s.whole))
	return whole.sum + whole.rest
}

// exact is the sum of the doubles with all its digits.
func (s *SumOf) exact() bson.Decimal128 {
	if s.special != 0 { // NaN, too
		return value.DecimalOfDouble(s.special)
	}
	return value.DecimalAdd(value.ExactDecimal(s.sum), value.ExactDecimal(s.rest))
}

// Result returns the sum so far.
func (s *SumOf) Result(*quota.Meter) value.Value {
	switch {
	case s.decimal != nil:
		d := *s.decimal
		if s.whole != 0 {
			d = value.DecimalAdd(d, value.DecimalOfInt(s.whole))
		}
		if s.double || s.spilled {
			d = value.DecimalAdd(d, s.exact())
		}
		return value.Decimal(d)
	case s.double || s.spilled:
		return value.Double(s.float())
	case s.long:
		return value.Int64(s.whole)
	}
	return value.SmallestInt(s.whole)
}

type average struct{ SumOf }

func (a *average) Result(*quota.Meter) value.Value {
	switch {
	case a.count == 0:
		return value.Null()
	case a.decimal != nil:
		return value.Decimal(value.DecimalDivide(value.ToDecimal(a.SumOf.Result(nil)), value.DecimalOfInt(a.count)))
	}
	return value.Double(a.float() / float64(a.count))
}

// extreme is $min and $max: null and missing do not take part.
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

func (e *extreme) Keeps() int { return len(e.best.Value) }

func (e *extreme) Result(*quota.Meter) value.Value { return OrNull(e.best) }

// OrNull returns null for what is missing.
func OrNull(v value.Value) value.Value {
	if value.IsMissing(v) {
		return value.Null()
	}
	return v
}

// deviation follows mean and squared distances number by number (Welford).
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
	v   value.Value
	any bool
}

func (f *firstOf) Add(_ *quota.Meter, args []value.Value) error {
	if !f.any {
		f.v, f.any = args[0], true
	}
	return nil
}

func (f *firstOf) Keeps() int { return len(f.v.Value) }

func (f *firstOf) Result(*quota.Meter) value.Value { return OrNull(f.v) }

type lastOf struct{ v value.Value }

func (l *lastOf) Add(_ *quota.Meter, args []value.Value) error { l.v = args[0]; return nil }
func (l *lastOf) Keeps() int                                   { return len(l.v.Value) }
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
	return p.keep(len(args[0].Value) + quota.ItemBytes)
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
	key := value.Encoded(v)
	if s.seen[key] {
		return nil
	}
	s.seen[key] = true
	s.list = append(s.list, v)
	return s.keep(len(key) + len(v.Value) + quota.ItemBytes)
}

func (s *setOf) Result(*quota.Meter) value.Value { return document.Array(s.list) }

type mergedObject struct {
	fields []document.Field
	at     map[string]int // the place of each in fields
	bytes  int
}

func newMergedObject() Accumulator { return &mergedObject{at: map[string]int{}} }

func (m *mergedObject) Add(w *quota.Meter, args []value.Value) error {
	v := args[0]
	if value.IsNullish(v) {
		return nil
	}
	if !value.IsObject(v) {
		return servererr.Of(40400, "$mergeObjects requires object inputs, but input %s is of type %s", v, value.TypeName(v))
	}
	for name, f := range w.Fields(v.Value) {
		if i, ok := m.at[string(name)]; ok {
			m.bytes += len(f.Value) - len(m.fields[i].Value.Value)
			m.fields[i].Value = f
			continue
		}
		m.at[string(name)] = len(m.fields)
		m.fields = append(m.fields, document.Field{Name: string(name), Value: f})
		m.bytes += 2*len(name) + len(f.Value) + quota.ItemBytes
	}
	return nil
}

func (m *mergedObject) Keeps() int { return m.bytes }

func (m *mergedObject) Result(*quota.Meter) value.Value {
	return value.Object(document.Of(m.fields...))
}

func accumulatorTooLarge(op string) error {
	return servererr.New(mongoerr.ExceededMemoryLimit,
		"%s used too much memory and cannot spill to disk. Memory limit: %d bytes", op, quota.StageMemory)
}

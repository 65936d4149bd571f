package expr

import (
	"strings"
	"time"

	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
	"shardsh/balancer/mongoerr"
)

// TimeUnit is a unit of time, as a number of months or of milliseconds.
type TimeUnit struct {
	Months int
	Millis int64
	local  bool // days and weeks follow the local calendar
}

var timeUnits = map[string]TimeUnit{
	"year": {Months: 12}, "quarter": {Months: 3}, "month": {Months: 1},
	"week": {Millis: 7 * 86400000, local: true}, "day": {Millis: 86400000, local: true},
	"hour": {Millis: 3600000}, "minute": {Millis: 60000}, "second": {Millis: 1000}, "millisecond": {Millis: 1},
}

// ParseUnit reads the unit argument of a date operator.
func ParseUnit(v value.Value, op string, typeCode int32) (TimeUnit, string, error) {
	if !value.IsString(v) {
		return TimeUnit{}, "", servererr.NewCode(typeCode, "%s requires 'unit' to be a string, but got %s", op,
			value.TypeName(v))
	}
	name := value.TextAt(v.Value)
	u, ok := timeUnits[name]
	if !ok {
		return u, name, servererr.FailedToParse("unknown time unit value: %s", name)
	}
	return u, name, nil
}

// parseWeekStart reads the first day of the week; the default is Sunday.
func parseWeekStart(v value.Value, op string) (day time.Weekday, ok bool, err error) {
	switch {
	case value.IsOmittedArgument(v):
		return time.Sunday, true, nil
	case value.IsNullish(v):
		return 0, false, nil
	case !value.IsString(v):
		return 0, false, servererr.NewCode(5439015, "%s requires 'startOfWeek' to be a string, but got %s", op,
			value.TypeName(v))
	}
	name := strings.ToLower(value.TextAt(v.Value))
	for d := time.Sunday; d <= time.Saturday; d++ {
		full := strings.ToLower(d.String())
		if name == full || name == full[:3] {
			return d, true, nil
		}
	}
	return 0, false, servererr.FailedToParse("unknown day of week value: %s", value.TextAt(v.Value))
}

func dateArithmetic(op string, sign int64) namedFunction {
	return namedFunction{
		args:     []string{"startDate", "unit", "amount", "timezone"},
		required: 3, notObjectCode: 5166400, unknownCode: 5166401, missingCode: 5166402,
		call: func(_ *Evaluation, args []value.Value) (value.Value, error) {
			if value.IsNullish(args[0]) || value.IsNullish(args[1]) || value.IsNullish(args[2]) {
				return value.Null(), nil
			}
			u, _, err := ParseUnit(args[1], op, 5166404)
			if err != nil {
				return value.Value{}, err
			}
			if _, err := dateMillis(args[0]); err != nil {
				return value.Value{}, servererr.NewCode(5166403, "%s requires startDate to be convertible to a date", op)
			}
			amount, ok := value.WholeInteger(args[2])
			if !ok {
				return value.Value{}, servererr.NewCode(5166405, "%s expects integer amount of time units", op)
			}
			t, ok, err := localTime(args[0], args[3])
			if err != nil || !ok {
				return value.Null(), err
			}
			const most = 1 << 40 // years as well as milliseconds stay below this
			if amount > most || amount < -most {
				if u.Millis != 1 {
					return value.Value{}, servererr.NewCode(5976500, "%s overflowed", op)
				}
			}
			out, err := AddUnits(t, u, sign*amount)
			if err != nil {
				return value.Value{}, err
			}
			return value.Date(out.UnixMilli()), nil
		},
	}
}

// AddUnits adds n units to t. If the resulting month is too short, it returns the last day of that
// month.
func AddUnits(t time.Time, u TimeUnit, n int64) (time.Time, error) {
	switch {
	case u.Months > 0:
		months := int64(u.Months) * n
		if months > 12*1e6 || months < -12*1e6 {
			return t, servererr.New(mongoerr.Overflow, "date overflow")
		}
		first := time.Date(t.Year(), t.Month()+time.Month(months), 1, 0, 0, 0, 0, time.UTC)
		last := first.AddDate(0, 1, -1).Day()
		return time.Date(first.Year(), first.Month(), min(t.Day(), last), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(),
			t.Location()), nil
	case u.local:
		days := u.Millis / 86400000 * n
		if days > 1e9 || days < -1e9 {
			return t, servererr.New(mongoerr.Overflow, "date overflow")
		}
		return t.AddDate(0, 0, int(days)), nil
	}
	ms, ok := value.MultiplyInt64(u.Millis, n)
	if ok {
		ms, ok = value.AddInt64(t.UnixMilli(), ms)
	}
	if !ok {
		return t, servererr.New(mongoerr.Overflow, "date overflow")
	}
	return time.UnixMilli(ms).In(t.Location()), nil
}

// exprDateDiff returns the number of unit boundaries between two dates.
func exprDateDiff(_ *Evaluation, args []value.Value) (value.Value, error) {
	if value.IsNullish(args[0]) || value.IsNullish(args[1]) || value.IsNullish(args[2]) {
		return value.Null(), nil
	}
	u, name, err := ParseUnit(args[2], "$dateDiff", 5439013)
	if err != nil {
		return value.Value{}, err
	}
	start := time.Sunday
	if name == "week" {
		var ok bool
		if start, ok, err = parseWeekStart(args[4], "$dateDiff"); err != nil || !ok {
			return value.Null(), err
		}
	}
	for i, name := range []string{"startDate", "endDate"} {
		if _, err := dateMillis(args[i]); err != nil {
			return value.Value{}, servererr.NewCode(5166307, "$dateDiff requires '%s' to be a date, but got %s", name,
				value.TypeName(args[i]))
		}
	}
	a, ok, err := localTime(args[0], args[3])
	if err != nil || !ok {
		return value.Null(), err
	}
	b, _, err := localTime(args[1], args[3])
	if err != nil {
		return value.Value{}, err
	}
	return value.Int64(unitNumber(b, u, name, start) - unitNumber(a, u, name, start)), nil
}

// unitNumber returns the number of the unit that contains t.
func unitNumber(t time.Time, u TimeUnit, name string, start time.Weekday) int64 {
	if u.Months > 0 {
		return floorDiv(int64(t.Year())*12+int64(t.Month())-1, int64(u.Months))
	}
	_, offset := t.Zone()
	days := floorDiv(t.Unix()+int64(offset), 86400)
	switch name {
	case "day":
		return days
	case "week": // day 0 was a Thursday
		return floorDiv(days+int64((time.Thursday-start+7)%7), 7)
	case "hour":
		return floorDiv(t.UnixMilli()+int64(offset)*1000, u.Millis)
	}
	return floorDiv(t.UnixMilli(), u.Millis)
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

// exprDateTrunc returns the start of the bin that contains a date; bins are counted from the year 2000.
func exprDateTrunc(_ *Evaluation, args []value.Value) (value.Value, error) {
	if value.IsNullish(args[0]) || value.IsNullish(args[1]) || !value.IsOmittedArgument(args[2]) &&
		value.IsNullish(args[2]) {
		return value.Null(), nil
	}
	u, name, err := ParseUnit(args[1], "$dateTrunc", 5439013)
	if err != nil {
		return value.Value{}, err
	}
	size := int64(1)
	if !value.IsOmittedArgument(args[2]) {
		if size, err = parseBinSize(args[2]); err != nil {
			return value.Value{}, err
		}
		if size > 1e11 {
			return value.Value{}, servererr.NewCode(5439006, "dateTrunc overflowed")
		}
	}
	start := time.Sunday
	if name == "week" {
		var ok bool
		if start, ok, err = parseWeekStart(args[4], "$dateTrunc"); err != nil || !ok {
			return value.Null(), err
		}
	}
	if _, err := dateMillis(args[0]); err != nil {
		return value.Value{}, servererr.NewCode(5439012, "$dateTrunc requires 'date' to be a date, but got %s",
			value.TypeName(args[0]))
	}
	t, ok, err := localTime(args[0], args[3])
	if err != nil || !ok {
		return value.Null(), err
	}
	return value.Date(truncateDate(t, u, name, size, start).UnixMilli()), nil
}

func parseBinSize(v value.Value) (int64, error) {
	n, ok := value.WholeInteger(v)
	if !ok {
		return 0, servererr.NewCode(5439017,
			"$dateTrunc requires 'binSize' to be a 64-bit integer, but got value '%s' of type %s", v, value.TypeName(v))
	}
	if n <= 0 {
		return 0, servererr.NewCode(5439018, "$dateTrunc requires 'binSize' to be greater than 0, but got value %d", n)
	}
	return n, nil
}

func truncateDate(t time.Time, u TimeUnit, name string, size int64, start time.Weekday) time.Time {
	epoch := time.Date(2000, 1, 1, 0, 0, 0, 0, t.Location())
	if u.Months > 0 {
		months := int64(t.Year()-2000)*12 + int64(t.Month()) - 1
		bin := int64(u.Months) * size
		return epoch.AddDate(0, int(floorDiv(months, bin)*bin), 0)
	}
	if u.local {
		days := unitNumber(t, u, "day", start) - unitNumber(epoch, u, "day", start)
		first := int64(0)
		if name == "week" { // the first such day of 2000, which began on a Saturday
			first = int64((start - time.Saturday + 7) % 7)
			size *= 7
		}
		return epoch.AddDate(0, 0, int(first+floorDiv(days-first, size)*size))
	}
	bin := u.Millis * size
	since := t.UnixMilli() - epoch.UnixMilli()
	return time.UnixMilli(epoch.UnixMilli() + floorDiv(since, bin)*bin)
}

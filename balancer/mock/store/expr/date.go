package expr

import (
	"strconv"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
)

var namedDateFunctions = mergeTables(dateParts(), map[string]namedFunction{
	"$dateToParts": {
		args: []string{"date", "timezone", "iso8601"}, required: 1, notObjectCode: 40524, unknownCode: 40520,
		missingCode: 40522,
		call:        exprDateToParts,
	},
	"$dateFromParts": {
		args: datePartNames, notObjectCode: 40519, unknownCode: 40518, missingCode: 40516, call: exprDateFromParts,
	},
	"$dateToString": {
		args: []string{"date", "format", "timezone", "onNull"}, required: 1, notObjectCode: 18629, unknownCode: 18534,
		missingCode: 18628,
		call:        exprDateToString,
	},
	"$dateFromString": {
		args: []string{"dateString", "format", "timezone", "onError", "onNull"}, required: 1,
		notObjectCode: 40540, unknownCode: 40541, missingCode: 40542, call: exprDateFromString,
	},
	"$dateAdd":      dateArithmetic("$dateAdd", 1),
	"$dateSubtract": dateArithmetic("$dateSubtract", -1),
	"$dateDiff": {
		args:     []string{"startDate", "endDate", "unit", "timezone", "startOfWeek"},
		required: 3, notObjectCode: 5166301, unknownCode: 5166302, missingCode: 5166303, call: exprDateDiff,
	},
	"$dateTrunc": {
		args:     []string{"date", "unit", "binSize", "timezone", "startOfWeek"},
		required: 2, notObjectCode: 5439007, unknownCode: 5439008, missingCode: 5439009, call: exprDateTrunc,
	},
})

// dateParts returns the operators that return one component of a date.
func dateParts() map[string]namedFunction {
	table := map[string]func(t time.Time) int{
		"$year":       time.Time.Year,
		"$month":      func(t time.Time) int { return int(t.Month()) },
		"$dayOfMonth": time.Time.Day, "$hour": time.Time.Hour, "$minute": time.Time.Minute, "$second": time.Time.Second,
		"$millisecond": func(t time.Time) int { return t.Nanosecond() / 1e6 },
		"$dayOfWeek":   func(t time.Time) int { return int(t.Weekday()) + 1 },
		"$dayOfYear":   time.Time.YearDay,
		"$week":        weekOfYear, "$isoDayOfWeek": isoWeekday,
		"$isoWeek": func(t time.Time) int { _, w := t.ISOWeek(); return w },
	}
	part := func(give func(t time.Time) value.Value) namedFunction {
		return namedFunction{
			args: []string{
				"date",
				"timezone",
			},
			required:      1,
			notObjectCode: 40535,
			unknownCode:   40535,
			missingCode:   40539,
			hasShortForm:  true,
			call: func(_ *Evaluation, args []value.Value) (value.Value, error) {
				t, ok, err := localTime(args[0], args[1])
				if err != nil || !ok {
					return value.Null(), err
				}
				return give(t), nil
			},
		}
	}
	out := map[string]namedFunction{
		"$isoWeekYear": part(func(t time.Time) value.Value { y, _ := t.ISOWeek(); return value.Int64(int64(y)) }),
	}
	for name, f := range table {
		out[name] = part(func(t time.Time) value.Value { return value.Int32(int32(f(t))) })
	}
	return out
}

// weekOfYear returns the week of the year. Week 1 begins on the first Sunday; the days before are in
// week 0.
func weekOfYear(t time.Time) int { return (t.YearDay() - 1 + 7 - int(t.Weekday())) / 7 }

func isoWeekday(t time.Time) int { return (int(t.Weekday())+6)%7 + 1 }

// localTime returns a date in a time zone. ok is false if either is null.
func localTime(date, zone value.Value) (t time.Time, ok bool, err error) {
	if value.IsNullish(date) {
		return t, false, nil
	}
	loc, ok, err := parseZoneArg(zone)
	if err != nil || !ok {
		return t, false, err
	}
	ms, err := dateMillis(date)
	return time.UnixMilli(ms).In(loc), true, err
}

// dateMillis returns the milliseconds since 1970 of a date, timestamp or ObjectId.
func dateMillis(v value.Value) (int64, error) {
	switch v.Type {
	case bson.TypeDateTime:
		return value.Int64At(v.Value), nil
	case bson.TypeTimestamp, bson.TypeObjectID:
		d, err := convertToDate(v)
		return value.Int64At(d.Value), err
	}
	return 0, servererr.NewCode(16006, "can't convert from BSON type %s to Date", value.TypeName(v))
}

// parseZoneArg reads a time zone argument: an offset or an Olson name. The default is UTC.
func parseZoneArg(v value.Value) (loc *time.Location, ok bool, err error) {
	switch {
	case value.IsOmittedArgument(v):
		return time.UTC, true, nil
	case value.IsNullish(v):
		return nil, false, nil
	case !value.IsString(v):
		return nil, false, servererr.NewCode(40517, "timezone must evaluate to a string, found %s", value.TypeName(v))
	}
	loc, err = parseZone(value.TextAt(v.Value))
	return loc, true, err
}

func parseZone(name string) (*time.Location, error) {
	if offset, ok := parseZoneOffset(name); ok {
		return time.FixedZone("", offset), nil
	}
	switch name {
	case "UTC", "GMT", "Z", "utc":
		return time.UTC, nil
	case "", "Local":
		return nil, servererr.NewCode(40485, "unrecognized time zone identifier: %q", name)
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, servererr.NewCode(40485, "unrecognized time zone identifier: %q", name)
	}
	return loc, nil
}

// parseZoneOffset parses +hh, +hhmm or +hh:mm and returns seconds.
func parseZoneOffset(s string) (int, bool) {
	if len(s) < 3 || s[0] != '+' && s[0] != '-' {
		return 0, false
	}
	digits := strings.Replace(s[1:], ":", "", 1)
	if len(digits) == 2 {
		digits += "00"
	}
	n, err := strconv.ParseUint(digits, 10, 32)
	if err != nil || len(digits) != 4 || n%100 > 59 {
		return 0, false
	}
	offset := int(n/100)*3600 + int(n%100)*60
	if s[0] == '-' {
		offset = -offset
	}
	return offset, true
}

func exprDateToParts(_ *Evaluation, args []value.Value) (value.Value, error) {
	iso := false
	if !value.IsOmittedArgument(args[2]) {
		if value.IsNullish(args[2]) {
			return value.Null(), nil
		}
		if args[2].Type != bson.TypeBoolean {
			return value.Value{}, servererr.NewCode(40521, "iso8601 must evaluate to a bool, found %s", value.TypeName(args[2]))
		}
		iso = value.IsTruthy(args[2])
	}
	t, ok, err := localTime(args[0], args[1])
	if err != nil || !ok {
		return value.Null(), err
	}
	number := func(n int) value.Value { return value.Int32(int32(n)) }
	var out []document.Field
	if iso {
		y, w := t.ISOWeek()
		out = []document.Field{{Name: "isoWeekYear", Value: number(y)}, {Name: "isoWeek", Value: number(w)},
			{Name: "isoDayOfWeek", Value: number(isoWeekday(t))}}
	} else {
		out = []document.Field{{Name: "year", Value: number(t.Year())}, {Name: "month", Value: number(int(t.Month()))},
			{Name: "day", Value: number(t.Day())}}
	}
	out = append(out, document.Field{Name: "hour", Value: number(t.Hour())},
		document.Field{Name: "minute", Value: number(t.Minute())},
		document.Field{Name: "second", Value: number(t.Second())}, document.Field{Name: "millisecond",
			Value: number(t.Nanosecond() / 1e6)})
	return value.Object(document.New(out...)), nil
}

var datePartNames = []string{
	"year", "month", "day", "hour", "minute", "second", "millisecond", "timezone", "isoWeekYear", "isoWeek",
	"isoDayOfWeek",
}

// exprDateFromParts returns a date from its components. Components out of range carry over.
func exprDateFromParts(_ *Evaluation, args []value.Value) (value.Value, error) {
	year, isoYear := args[0], args[8]
	switch {
	case value.IsOmittedArgument(year) && value.IsOmittedArgument(isoYear):
		return value.Value{}, servererr.NewCode(40516, "$dateFromParts requires either 'year' or 'isoWeekYear' to be present")
	case !value.IsOmittedArgument(isoYear) && !(value.IsOmittedArgument(year) && value.IsOmittedArgument(args[1]) &&
		value.IsOmittedArgument(args[2])):
		return value.Value{}, servererr.NewCode(40489, "$dateFromParts does not allow mixing natural dates with ISO dates")
	case value.IsOmittedArgument(isoYear) && !(value.IsOmittedArgument(args[9]) && value.IsOmittedArgument(args[10])):
		return value.Value{}, servererr.NewCode(40525, "$dateFromParts does not allow mixing natural dates with ISO dates")
	}
	loc, ok, err := parseZoneArg(args[7])
	if err != nil || !ok {
		return value.Null(), err
	}
	n := [11]int{0, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1}
	for i, v := range args {
		if i == 7 || value.IsOmittedArgument(v) {
			continue
		}
		if value.IsNullish(v) {
			return value.Null(), nil
		}
		whole, ok := value.WholeInt32(v)
		if !ok {
			return value.Value{}, servererr.NewCode(40515, "'%s' must evaluate to an integer, found %s with value %s",
				datePartNames[i],
				value.TypeName(v), v)
		}
		if i == 0 || i == 8 {
			if whole < 1 || whole > 9999 {
				return value.Value{}, servererr.NewCode(40523, "'%s' must evaluate to an integer in the range 1 to 9999, found %d",
					datePartNames[i],
					whole)
			}
		} else if i < 5 && (whole < -32768 || whole > 32767) || i > 8 && (whole < -32768 || whole > 32767) {
			return value.Value{}, servererr.NewCode(31034,
				"'%s' must evaluate to a value in the range [-32768, 32767]; value %d is not in range",
				datePartNames[i], whole)
		}
		n[i] = whole
	}
	if value.IsOmittedArgument(isoYear) {
		t := time.Date(n[0], time.Month(n[1]), n[2], n[3], n[4], n[5], 0, loc)
		return value.Date(t.UnixMilli() + int64(n[6])), nil
	}
	// The first ISO week contains January 4.
	start := time.Date(n[8], 1, 4, n[3], n[4], n[5], 0, loc)
	days := (n[9]-1)*7 + n[10] - isoWeekday(start)
	t := time.Date(n[8], 1, 4+days, n[3], n[4], n[5], 0, loc)
	return value.Date(t.UnixMilli() + int64(n[6])), nil
}

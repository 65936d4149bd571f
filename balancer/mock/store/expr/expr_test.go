package expr

import (
	"testing"
	"time"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/storetest"
	"shardsh/balancer/mock/store/value"
)

func evalText(t testing.TB, expr, doc string) (value.Value, error) {
	t.Helper()
	e, err := compileAlone(document.Lookup(storetest.Raw(t, `{"e":`+expr+`}`), "e"), nil,
		time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	if err != nil {
		return value.Value{}, err
	}
	return e.Eval(storetest.Raw(t, doc))
}

// Examples of the manual and rules of the operators' pages, beside those that
// were recorded. An empty want stands for missing.
func TestExpressions(t *testing.T) {
	const doc = `{"n": 5, "f": 2.5, "s": "abc", "a": [1, 2, 3], "o": {"x": 1}, "ao": [{"x": 1}, {"y": 2}, 3, [{"x": 9}],
	  {"x": 4}],
		"d": {"$date": "2026-03-15T13:45:30.123Z"}, "dec": {"$numberDecimal": "1.10"}, "nul": null, "k$": 7, "a.b": 8}`
	for _, tc := range []struct{ expr, want string }{
		// Numbers widen as far as they must.
		{`{"$add": [2147483647, 1]}`, `{"$numberLong": "2147483648"}`},
		{`{"$add": [{"$numberLong": "9223372036854775807"}, 1]}`, `9223372036854775807.0`},
		{`{"$subtract": [{"$numberLong": "-9223372036854775808"}, 1]}`, `-9223372036854775808.0`},
		{`{"$multiply": [65536, 65536]}`, `{"$numberLong": "4294967296"}`},
		{`{"$add": ["$dec", {"$numberDouble": "0.1"}]}`, `{"$numberDecimal": "1.200000000000000"}`},
		{`{"$divide": [{"$numberDecimal": "1"}, 3]}`, `{"$numberDecimal": "0.3333333333333333333333333333333333"}`},
		{`{"$divide": [{"$numberDecimal": "10"}, {"$numberDecimal": "4"}]}`, `{"$numberDecimal": "2.5"}`},
		{`{"$multiply": [{"$numberDecimal": "1.5"}, {"$numberDecimal": "2.50"}]}`, `{"$numberDecimal": "3.750"}`},
		{`{"$mod": [{"$numberDecimal": "7.5"}, 2]}`, `{"$numberDecimal": "1.5"}`},
		{`{"$mod": [-5.5, 2]}`, `-1.5`},
		{`{"$mod": [5, {"$numberLong": "3"}]}`, `{"$numberLong": "2"}`},
		{`{"$abs": -2147483648}`, `{"$numberLong": "2147483648"}`},
		{`{"$abs": {"$numberDecimal": "-1.50"}}`, `{"$numberDecimal": "1.50"}`},
		{`{"$round": [19.25, 1]}`, `19.2`},
		{`{"$round": [28.73, 1]}`, `28.7`},
		{`{"$round": [-2.5]}`, `-2.0`},
		{`{"$round": [15, -1]}`, `20`},
		{`{"$round": [25, -1]}`, `20`},
		{`{"$round": [{"$numberDecimal": "2.675"}, 2]}`, `{"$numberDecimal": "2.68"}`},
		{`{"$trunc": [-25, -1]}`, `-20`},
		{`{"$trunc": [19.95, 1]}`, `19.9`},
		{`{"$ceil": {"$numberDecimal": "1.1"}}`, `{"$numberDecimal": "2"}`},
		{`{"$pow": [2, -1]}`, `0.5`},
		{`{"$pow": [-1, {"$numberLong": "3"}]}`, `{"$numberLong": "-1"}`},
		{`{"$pow": [{"$numberDecimal": "1.1"}, 2]}`, `{"$numberDecimal": "1.21"}`},
		{`{"$sqrt": {"$numberDecimal": "6.25"}}`, `{"$numberDecimal": "2.5"}`},
		{`{"$sqrt": null}`, `null`},
		{`{"$bitAnd": [{"$numberLong": "6"}, 3]}`, `{"$numberLong": "2"}`},
		{`{"$bitAnd": []}`, `-1`},
		{`{"$subtract": ["$d", 1000]}`, `{"$date": "2026-03-15T13:45:29.123Z"}`},
		{`{"$atan2": [0, 1]}`, `0.0`},
		{`{"$degreesToRadians": 180}`, `3.141592653589793`},
		// Paths go through arrays of objects, not through arrays of arrays.
		{`"$ao.x"`, `[1, 4]`},
		{`"$o.x.y"`, ``},
		{`"$s.x"`, ``},
		{`"$a.0"`, `[]`},
		{`"$$ROOT.o"`, `{"x": 1}`},
		{`["$n", "$nope"]`, `[5, null]`},
		{`{"a": "$nope", "b": "$n"}`, `{"b": 5}`},
		{`{"$getField": "k$"}`, `7`},
		{`{"$getField": "a.b"}`, `8`},
		{`{"$getField": {"$concat": ["a", ".", "b"]}}`, `8`},
		{`{"$getField": {"field": "x", "input": 5}}`, ``},
		{`{"$setField": {"field": "a.b", "input": {"c": 1}, "value": 2}}`, `{"c": 1, "a.b": 2}`},
		{`{"$setField": {"field": "c", "input": {"c": 1}, "value": "$$REMOVE"}}`, `{}`},
		// Conditions.
		{`{"$and": [true, {"$divide": [1, 0]}]}`, `!2`},
		{`{"$and": [false, {"$divide": ["$dec", 0]}]}`, `false`},
		{`{"$or": [1, {"$divide": ["$dec", 0]}]}`, `true`},
		{`{"$cond": [true, 1, {"$divide": ["$dec", 0]}]}`, `1`},
		{`{"$not": [[false]]}`, `false`},
		{`{"$switch": {"branches": [{"case": {"$gt": ["$n", 3]}, "then": "big"}], "default": "small"}}`, `"big"`},
		{`{"$ifNull": [null, "$nope"]}`, ``},
		// Bound variables do not run into each other.
		{`{"$let": {"vars": {"x": 1, "y": {"$let": {"vars": {"x": 5}, "in": "$$x"}}}, "in": {"$add": ["$$x", "$$y"]}}}`, `6`},
		{`{"$map": {"input": "$a", "as": "x", "in": {"$map": {"input": "$a", "as": "y", "in": {"$multiply": ["$$x", ` +
			`"$$y"]}}}}}`, `[[1, 2, 3], [2, 4, 6], [3, 6, 9]]`},
		{`{"$map": {"input": "$a", "in": {"$reduce": {"input": ["$$this"], "initialValue": 10, "in": {"$add": ["$$value", ` +
			`"$$this"]}}}}}`, `[11, 12, 13]`},
		{`{"$map": {"input": "$ao", "as": "e", "in": "$$e.x"}}`, `[1, null, null, [9], 4]`},
		{`{"$map": {"input": null, "in": 1}}`, `null`},
		{`{"$let": {"vars": {"CURRENT": "$o"}, "in": "$x"}}`, `1`},
		{`{"$filter": {"input": "$a", "cond": {"$ne": ["$$this", 2]}}}`, `[1, 3]`},
		// One argument that is not an object ends it, whatever the others are.
		{`{"$mergeObjects": [["$o"], "$o"]}`, `!40400`},
		{`{"$mergeObjects": [["$o"]]}`, `{"x": 1}`},
		// Strings.
		{`{"$toUpper": 5}`, `"5"`},
		{`{"$substr": ["abc", 1, -1]}`, `"bc"`},
		{`{"$substrBytes": ["é", 1, 1]}`, `!28656`},
		{`{"$indexOfBytes": ["cafétéria", "é"]}`, `3`},
		{`{"$indexOfCP": ["vanilla", "ll", 12]}`, `-1`},
		{`{"$indexOfCP": ["vanilla", "nilla", 3]}`, `-1`},
		{`{"$split": ["a-b-", "-"]}`, `["a", "b", ""]`},
		{`{"$trim": {"input": " \n good  bye \t "}}`, `"good  bye"`},
		{`{"$trim": {"input": "0.00", "chars": "0"}}`, `"."`},
		{`{"$replaceAll": {"input": "a.a", "find": null, "replacement": ""}}`, `null`},
		{`{"$regexFind": {"input": "Café-12", "regex": "é-(\\d)(x)?"}}`,
			`{"match": "é-1", "idx": 3, "captures": ["1", null]}`},
		{`{"$regexFindAll": {"input": "aXbX", "regex": "(?=X)"}}`,
			`[{"match": "", "idx": 1, "captures": []}, {"match": "", "idx": 3, "captures": []}]`},
		// The server searches again from behind a match, or a character on if that was empty, up to
		// the last character.
		{`{"$map": {"input": {"$regexFindAll": {"input": "aé", "regex": ""}}, "in": "$$this.idx"}}`, `[0, 1]`},
		{`{"$map": {"input": {"$regexFindAll": {"input": "abc", "regex": "b*"}}, "in": "$$this.idx"}}`, `[0, 1, 2]`},
		{`{"$map": {"input": {"$regexFindAll": {"input": "abb", "regex": "b*"}}, "in": "$$this.idx"}}`, `[0, 1]`},
		{`{"$map": {"input": {"$regexFindAll": {"input": "ab", "regex": {"$literal": "$"}}}, "in": "$$this.idx"}}`, `[2]`},
		{`{"$map": {"input": {"$regexFindAll": {"input": "", "regex": ""}}, "in": "$$this.idx"}}`, `[0]`},
		{`{"$regexMatch": {"input": null, "regex": "a"}}`, `false`},
		{`{"$regexMatch": {"input": "A", "regex": {"$regularExpression": {"pattern": "a", "options": "i"}}}}`, `true`},
		{`{"$strcasecmp": ["ABC", "abd"]}`, `-1`},
		// Arrays and sets.
		{`{"$concatArrays": []}`, `[]`},
		{`{"$slice": ["$a", -2, 1]}`, `[2]`},
		{`{"$slice": ["$a", 5, 2]}`, `[]`},
		{`{"$arrayElemAt": ["$a", {"$numberLong": "1"}]}`, `2`},
		{`{"$first": [[]]}`, ``},
		{`{"$indexOfArray": ["$a", 3, 0, 2]}`, `-1`},
		{`{"$range": [0, 3]}`, `[0, 1, 2]`},
		{`{"$zip": {"inputs": [[1, 2], ["a"]], "useLongestLength": true}}`, `[[1, "a"], [2, null]]`},
		{`{"$sortArray": {"input": [{"a": 2, "b": 1}, {"a": 1}, {"a": 2, "b": 0}], "sortBy": {"a": -1, "b": 1}}}`,
			`[{"a": 2, "b": 0}, {"a": 2, "b": 1}, {"a": 1}]`},
		{`{"$sortArray": {"input": [3, "a", null, 1.5], "sortBy": -1}}`, `["a", 3, 1.5, null]`},
		{`{"$lastN": {"input": "$a", "n": 2}}`, `[2, 3]`},
		{`{"$minN": {"input": [3, null, 1], "n": 5}}`, `[1, 3]`},
		{`{"$arrayToObject": [[{"k": "x", "v": 1}, {"k": "x", "v": 2}]]}`, `{"x": 2}`},
		{`{"$setUnion": [[1, 1.0, 2], [2]]}`, `[1, 2]`},
		{`{"$setDifference": [[1, 2, 2, 3], [3]]}`, `[1, 2]`},
		{`{"$setEquals": [[1, 2], [2, 1, 1]]}`, `true`},
		{`{"$anyElementTrue": [[]]}`, `false`},
		{`{"$max": ["$a", 7, "x"]}`, `[1, 2, 3]`},
		{`{"$max": ["$n", 7, "x", null]}`, `"x"`},
		{`{"$min": []}`, `null`},
		{`{"$avg": ["$a", 4]}`, `4.0`},
		{`{"$sum": [0.1, 0.2, 0.3]}`, `0.6`},
		{`{"$sum": [1, {"$numberLong": "2"}]}`, `{"$numberLong": "3"}`},
		{`{"$sum": ["$dec", 1, 0.5]}`, `{"$numberDecimal": "2.60"}`},
		{`{"$stdDevPop": [2, 4, 4, 4, 5, 5, 7, 9]}`, `2.0`},
		{`{"$stdDevSamp": 5}`, `null`},
		{`{"$median": {"input": [3, 1, 2], "method": "approximate"}}`, `2.0`},
		{`{"$percentile": {"input": [1, 2, 3, 4], "p": [0.5, 0.95], "method": "approximate"}}`, `[2.0, 4.0]`},
		// Conversions.
		{`{"$toInt": true}`, `1`},
		{`{"$toInt": "  5"}`, `!241`},
		{`{"$toLong": {"$numberDecimal": "5.9"}}`, `{"$numberLong": "5"}`},
		{`{"$toDouble": {"$date": "1970-01-01T00:00:01Z"}}`, `1000.0`},
		{`{"$toDecimal": 0.1}`, `{"$numberDecimal": "0.100000000000000"}`},
		{`{"$toDate": 5}`, `!241`},
		{`{"$toBool": "false"}`, `true`},
		{`{"$toString": 0.1}`, `"0.1"`},
		{`{"$toString": {"$binary": {"base64": "AQID", "subType": "00"}}}`, `"AQID"`},
		{`{"$convert": {"input": {"$binary": {"base64": "AQID", "subType": "00"}}, "to": "string"}}`, `!4341115`},
		{`{"$toString": 1e15}`, `"1000000000000000"`},
		{`{"$toString": {"$numberDouble": "Infinity"}}`, `"Infinity"`},
		{`{"$convert": {"input": "5", "to": 16}}`, `5`},
		{`{"$convert": {"input": {"$minKey": 1}, "to": "int", "onError": "no"}}`, `"no"`},
		// onError and onNull are evaluated only if they are needed.
		{`{"$convert": {"input": "$n", "to": "int", "onError": {"$toInt": "$s"}, "onNull": {"$toInt": "$s"}}}`, `5`},
		{`{"$convert": {"input": "$s", "to": "int", "onError": {"$add": ["$n", 1]}}}`, `6`},
		{`{"$convert": {"input": "$s", "to": "int", "onError": "$nope"}}`, ``},
		{`{"$dateFromString": {"dateString": "2026-01-02", "onError": {"$toInt": "$s"}, "onNull": {"$toInt": "$s"}}}`,
			`{"$date": "2026-01-02T00:00:00Z"}`},
		{`{"$dateToString": {"date": "$nope", "onNull": {"$add": ["$n", 1]}}}`, `6`},
		{`{"$convert": {"input": {"$binary": {"base64": "AQI=", "subType": "00"}}, "to": "string", "format": "base64"}}`,
			`"AQI="`},
		{`{"$toUUID": "00112233-4455-6677-8899-aabbccddeeff"}`,
			`{"$binary": {"base64": "ABEiM0RVZneImaq7zN3u/w==", "subType": "04"}}`},
		{`{"$toUUID": {"$binary": {"base64": "AQID", "subType": "00"}}}`, `{"$binary": {"base64": "AQID", "subType": "04"}}`},
		{`{"$mergeObjects": [{"$literal": [{"x": 1}, {"y": 2}]}]}`, `{"x": 1, "y": 2}`},
		{`{"$and": [{"$ln": "$a"}, {"$exp": [null]}]}`, `false`},
		{`{"$filter": {"input": [], "cond": 1, "limit": "x"}}`, `[]`},
		{`{"$sum": [0.1, {"$numberDecimal": "1.10"}, 5.0]}`, `{"$numberDecimal": "6.200000000000000005551115123125783"}`},
		{`{"$toHashedIndexKey": "$nope"}`, `{"$numberLong": "2338878944348059895"}`},
		{`{"$type": {"$literal": [1]}}`, `"array"`},
		// Dates.
		{`{"$dateToString": {"date": "$d", "timezone": "America/New_York"}}`, `"2026-03-15T09:45:30.123"`},
		{`{"$dateToString": {"date": "$d", "format": "%b %B %U %w %z %Z", "timezone": "+05:30"}}`,
			`"Mar March 11 1 +0530 +330"`},
		{`{"$dateFromString": {"dateString": "2026-02-08T12:10:40.787", "timezone": "America/New_York"}}`,
			`{"$date": "2026-02-08T17:10:40.787Z"}`},
		{`{"$dateFromString": {"dateString": "2026-02-08 12:10:40+0200"}}`, `{"$date": "2026-02-08T10:10:40Z"}`},
		{`{"$dateFromString": {"dateString": "2026-02-31", "format": "%Y-%m-%d"}}`, `!241`},
		{`{"$dateFromString": {"dateString": "2026-W07-3", "format": "%G-W%V-%u"}}`, `{"$date": "2026-02-11T00:00:00Z"}`},
		{`{"$dateFromParts": {"year": 2017, "month": 14, "day": 1, "hour": 12}}`, `{"$date": "2018-02-01T12:00:00Z"}`},
		{`{"$dateFromParts": {"year": 2017, "month": 0, "day": 1, "hour": 12}}`, `{"$date": "2016-12-01T12:00:00Z"}`},
		{`{"$dateFromParts": {"isoWeekYear": 2017, "isoWeek": 6, "isoDayOfWeek": 3, "hour": 12}}`,
			`{"$date": "2017-02-08T12:00:00Z"}`},
		{`{"$dateToParts": {"date": {"$date": "2017-01-01T01:29:09.123Z"}, "iso8601": true}}`,
			`{"isoWeekYear": 2016, "isoWeek": 52, "isoDayOfWeek": 7, "hour": 1, "minute": 29, "second": 9, "millisecond": 123}`},
		{`{"$dateAdd": {"startDate": {"$date": "2026-01-31T00:00:00Z"}, "unit": "month", "amount": 1}}`,
			`{"$date": "2026-02-28T00:00:00Z"}`},
		{`{"$dateAdd": {"startDate": {"$date": "2020-10-31T23:00:00Z"}, "unit": "day", "amount": 1, "timezone": ` +
			`"America/New_York"}}`, `{"$date": "2020-11-02T00:00:00Z"}`},
		{`{"$dateDiff": {"startDate": {"$date": "2021-01-31T00:00:00Z"}, "endDate": {"$date": "2021-02-01T00:00:00Z"}, ` +
			`"unit": "year"}}`, `{"$numberLong": "0"}`},
		{`{"$dateDiff": {"startDate": {"$date": "2021-01-24T18:00:00Z"}, "endDate": {"$date": "2021-01-25T18:00:00Z"}, ` +
			`"unit": "week", "startOfWeek": "Monday"}}`, `{"$numberLong": "1"}`},
		{`{"$dateDiff": {"startDate": {"$date": "2021-01-24T18:00:00Z"}, "endDate": {"$date": "2021-01-25T18:00:00Z"}, ` +
			`"unit": "week"}}`, `{"$numberLong": "0"}`},
		{`{"$dateTrunc": {"date": {"$date": "2021-03-20T11:30:05Z"}, "unit": "month", "binSize": 6}}`,
			`{"$date": "2021-01-01T00:00:00Z"}`},
		{`{"$dateTrunc": {"date": {"$date": "2021-03-20T11:30:05Z"}, "unit": "hour", "binSize": 2}}`,
			`{"$date": "2021-03-20T10:00:00Z"}`},
		{`{"$dateTrunc": {"date": {"$date": "2021-03-20T11:30:05Z"}, "unit": "week", "binSize": 2, "timezone": ` +
			`"America/Los_Angeles", "startOfWeek": "Monday"}}`, `{"$date": "2021-03-15T07:00:00Z"}`},
		{`{"$week": {"$date": "2016-01-01T00:00:00Z"}}`, `0`},
		{`{"$year": {"date": null}}`, `null`},
		{`"$$NOW"`, `{"$date": "2026-01-02T03:04:05Z"}`},
		// Constant elements of an array are computed, too.
		{`[{"$add": [1, 2]}, {"$literal": "$n"}, "$$REMOVE"]`, `[3, "$n", null]`},
		{`{"$in": [3, [{"$add": [1, 2]}, 7]]}`, `true`},
	} {
		got, err := evalText(t, tc.expr, doc)
		if tc.want != "" && tc.want[0] == '!' {
			want := document.Lookup(storetest.Raw(t, `{"v":`+tc.want[1:]+`}`), "v").Int32()
			if storetest.CodeOf(err) != want {
				t.Errorf("%s: code %d (%v), want %d", tc.expr, storetest.CodeOf(err), err, want)
			}
			continue
		}
		var want value.Value
		if tc.want != "" {
			want = document.Lookup(storetest.Raw(t, `{"v":`+tc.want+`}`), "v")
		}
		if err != nil || !got.Equal(want) {
			t.Errorf("%s:\ngot  %s %v\nwant %s", tc.expr, got, err, tc.want)
		}
	}
}

func TestExpressionErrors(t *testing.T) {
	for expr, code := range map[string]int32{
		`{"$nope": 1}`:           168,
		`{"$add": 1, "$abs": 2}`: 15983,
		`{"a": 1, "$abs": 2}`:    16410,
		`{"a.b": 1}`:             16405,
		`"$"`:                    16872,
		`"$a."`:                  40353,
		`"$a..b"`:                15998,
		`"$a.$b"`:                16410,
		`"$$no.x"`:               17276,
		`"$$"`:                   9,
		`{"$subtract": [1]}`:     16020,
		`{"$abs": [1, 2]}`:       16020,
		// dates whose years have no four digits have no text
		`{"$toString": {"$date": {"$numberLong": "253402300800000"}}}`:                                         18537,
		`{"$concat": [{"$date": {"$numberLong": "253402300800000"}}]}`:                                         16702,
		`{"$toUpper": {"$date": {"$numberLong": "253402300800000"}}}`:                                          18537,
		`{"$convert": {"input": {"$date": {"$numberLong": "-62167219200001"}}, "to": "string", "onError": 1}}`: 18537,
		`{"$slice": [[1]]}`:       28667,
		`{"$subtract": ["a", 1]}`: 14,
		`{"$multiply": [1, "a"]}`: 14,
		// constants are computed before anything else, needed or not
		`{"$cond": [true, 1, {"$hour": ["a"]}]}`: 16006,
		// an argument that settles the call is the last one that is computed
		`{"$concat": ["$d", {"$abs": "$d"}]}`:        16702,
		`{"$bitXor": ["$d", {"$abs": "$d"}]}`:        14,
		`{"$round": ["$d", {"$abs": "$d"}]}`:         51081,
		`{"$indexOfArray": [1, 2]}`:                  40090,
		`{"$indexOfArray": [1, "$d"]}`:               50809,
		`{"$setIsSubset": ["$d", {"$abs": "$d"}]}`:   28765,
		`{"$setEquals": ["$d", [1]]}`:                17044,
		`{"$setEquals": ["$d", 1]}`:                  5887502,
		`{"$setEquals": [[1]]}`:                      17045,
		`{"$atan2": ["$d", "$missing"]}`:             51044,
		`{"$atan2": [1, "$d"]}`:                      51045,
		`{"$round": [1, "$d"]}`:                      16004,
		`{"$slice": [["a"], "b", "$missing"]}`:       28725,
		`{"$mergeObjects": ["$d", {"$abs": "$d"}]}`:  40400,
		`{"$bitOr": [{"x": 1}, {"$abs": "$d"}]}`:     28765,
		`{"$sortArray": {"input": [], "sortBy": 2}}`: 2942506,
		`{"$getField": {"field": 1, "input": "$d"}}`: 3041704,
		`{"$trim": {"input": "$d", "chars": null}}`:  50699,
		// what constants say of a call counts before its other arguments
		`{"$dateTrunc": {"date": {"$abs": "$d"}, "unit": "day", "binSize": -1}}`:       5439018,
		`{"$dateDiff": {"startDate": {"$abs": "$d"}, "endDate": "$d", "unit": "eon"}}`: 9,
		`{"$divide": ["a", 1]}`:                                         14,
		`{"$add": ["$d", "$d"]}`:                                        16612,
		`{"$abs": "a"}`:                                                 28765,
		`{"$ln": 0}`:                                                    28766,
		`{"$log": [1, 1]}`:                                              28759,
		`{"$pow": [0, -1]}`:                                             28764,
		`{"$acos": 2}`:                                                  50989,
		`{"$round": [1, 200]}`:                                          51083,
		`{"$bitAnd": [1.5]}`:                                            14,
		`{"$cond": [1, 2]}`:                                             16020,
		`{"$cond": {"if": 1, "then": 2}}`:                               17082,
		`{"$ifNull": [1]}`:                                              1257300,
		`{"$switch": {"branches": []}}`:                                 40068,
		`{"$let": {"vars": {"X": 1}, "in": 1}}`:                         9,
		`{"$let": {"in": 1}}`:                                           16876,
		`{"$map": {"input": 5, "in": 1}}`:                               16883,
		`{"$map": {"in": 1}}`:                                           16880,
		`{"$filter": {"input": 5, "cond": 1}}`:                          28651,
		`{"$reduce": {"input": 5, "initialValue": 0, "in": 1}}`:         40080,
		`{"$arrayElemAt": [5, 1]}`:                                      28689,
		`{"$arrayElemAt": [[1], 1.5]}`:                                  28691,
		`{"$concatArrays": [1]}`:                                        28664,
		`{"$setUnion": [1]}`:                                            17043,
		`{"$mergeObjects": 5}`:                                          40400,
		`{"$toInt": {"$numberDouble": "NaN"}}`:                          241,
		`{"$convert": {"input": 1}}`:                                    9,
		`{"$hour": {"date": "$d", "timezone": "No/Where"}}`:             40485,
		`{"$hour": {"timezone": "UTC"}}`:                                40539,
		`{"$dateToString": {"date": "$d", "format": "%Q"}}`:             18536,
		`{"$dateAdd": {"startDate": "$d", "unit": "eon", "amount": 1}}`: 9,
		`{"$regexMatch": {"input": 5, "regex": "a"}}`:                   51104,
		`{"$regexMatch": {"input": "a", "regex": "("}}`:                 51111,
		`{"$range": [0, 100000000]}`:                                    146,
	} {
		if _, err := evalText(t, expr, `{"d": {"$date": "2026-01-01T00:00:00Z"}}`); storetest.CodeOf(err) != code {
			t.Errorf("%s: code %d (%v), want %d", expr, storetest.CodeOf(err), err, code)
		}
	}
}

// Values that would grow without bound are refused.
func TestDateDiffNamesTheWrongArgument(t *testing.T) {
	for _, name := range []string{"startDate", "endDate"} {
		args := map[string]string{"startDate": `"$d"`, "endDate": `"$d"`}
		args[name] = `"x"`
		_, err := evalText(t, `{"$dateDiff": {"startDate": `+args["startDate"]+`, "endDate": `+args["endDate"]+
			`, "unit": "day"}}`, `{"d": {"$date": "2026-01-01T00:00:00Z"}}`)
		if want := "$dateDiff requires '" + name + "' to be a date, but got string"; err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestExpressionsAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	for _, expr := range []string{
		`{"$reduce": {"input": {"$range": [0, 64]}, "initialValue": "x", "in": {"$concat": ["$$value", "$$value"]}}}`,
		`{"$reduce": {"input": {"$range": [0, 64]}, "initialValue": 1, "in": {"a": "$$value", "b": "$$value"}}}`,
	} {
		if _, err := evalText(t, expr, `{}`); storetest.CodeOf(err) != 13548 {
			t.Errorf("%s: %v", expr, err)
		}
	}
}

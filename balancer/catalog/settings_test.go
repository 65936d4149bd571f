package catalog

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mongoerr"
)

// code is what a test expects of an error: 0 for none.
func checkCode(t *testing.T, name string, err error, want mongoerr.Code) {
	t.Helper()
	got, ok := mongoerr.CodeOf(err)
	if want == 0 && err != nil || want != 0 && (!ok || got != want) {
		t.Errorf("%s: error %v, want code %d", name, err, want)
	}
}

func e(key string, value any) bson.E { return bson.E{Key: key, Value: value} }

// Spec 01 §11.5, W01 to W07 and W13: the balancer document.
func TestLoadBalancer(t *testing.T) {
	for _, c := range []struct {
		name    string
		doc     bson.D
		mode    Mode
		unknown string
		code    mongoerr.Code
	}{
		{"W02", bson.D{e("stopped", true), e("mode", "full")}, ModeOff, "", 0},
		{"W03", bson.D{e("stopped", false), e("mode", "off")}, ModeOff, "", 0},
		{"W04 mode is not examined", bson.D{e("stopped", true), e("mode", 7)}, ModeOff, "", 0},
		{"W05", bson.D{e("mode", 7)}, "", "", mongoerr.TypeMismatch},
		{"W06", bson.D{e("mode", "auto")}, ModeOff, "auto", 0},
		{"W07 zero is false", bson.D{e("stopped", 0.0)}, ModeFull, "", 0},
		{"any other number is true", bson.D{e("stopped", 0.5)}, ModeOff, "", 0},
		{"W07 text", bson.D{e("stopped", "no")}, "", "", mongoerr.TypeMismatch},
		{"null is no bool", bson.D{e("stopped", nil)}, "", "", mongoerr.TypeMismatch},
		{"null is no mode", bson.D{e("mode", nil)}, "", "", mongoerr.TypeMismatch},
		{"empty document", bson.D{}, ModeFull, "", 0},
		{"unknown fields", bson.D{e("_id", "balancer"), e("activeWindowDOW", bson.A{1}), e("writeConcern", 3)}, ModeFull, "", 0},
		{"_waitForDelete text", bson.D{e("_waitForDelete", "yes")}, "", "", mongoerr.TypeMismatch},
		{"attemptToBalanceJumboChunks text", bson.D{e("attemptToBalanceJumboChunks", "yes")}, "", "", mongoerr.TypeMismatch},
		{"W10", bson.D{e("activeWindow", bson.D{e("start", "4:00"), e("stop", "04:00")})}, "", "", mongoerr.BadValue},
		{"W11 null", bson.D{e("activeWindow", nil)}, "", "", mongoerr.TypeMismatch},
		{"W13 other type", bson.D{e("_secondaryThrottle", 5)}, "", "", mongoerr.TypeMismatch},
	} {
		s := Settings{Mode: "before", MaxChunkSizeBytes: 5}
		err := s.LoadBalancer(doc(t, c.doc))
		checkCode(t, c.name, err, c.code)
		if err != nil {
			if s.Mode != "before" {
				t.Errorf("%s: a failure changed the settings to %+v", c.name, s)
			}
			continue
		}
		if s.Mode != c.mode || s.UnknownMode != c.unknown || s.MaxChunkSizeBytes != 5 {
			t.Errorf("%s: %+v, want mode %s", c.name, s, c.mode)
		}
	}
}

func TestSettingsWithoutDocuments(t *testing.T) { // W01
	s := Settings{Mode: ModeOff, WaitForDelete: true, Window: &Window{0, 1}}
	if err := s.Load(func(string) (bson.Raw, error) { return nil, nil }); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(s, DefaultSettings()) || s.Mode != ModeFull || s.MaxChunkSizeBytes != 128<<20 || !s.AutoMerge {
		t.Errorf("%+v", s)
	}
}

func TestLoadBalancerFlags(t *testing.T) {
	s := DefaultSettings()
	err := s.LoadBalancer(doc(t, bson.D{e("_waitForDelete", 1), e("attemptToBalanceJumboChunks", true), e("_secondaryThrottle", true),
		e("activeWindow", bson.D{e("start", "22:30"), e("stop", "5:00")})}))
	if err != nil || !s.WaitForDelete || !s.AttemptJumbo || s.SecondaryThrottle.State != ThrottleOn || s.Window.String() != "22:30-05:00" {
		t.Errorf("%+v: %v", s, err)
	}
	if err := s.LoadBalancer(nil); err != nil || !reflect.DeepEqual(s, DefaultSettings()) {
		t.Errorf("without a document: %+v, %v", s, err)
	}
}

func TestLoadChunkSize(t *testing.T) { // W14
	for _, c := range []struct {
		value any
		want  int64
		code  mongoerr.Code
	}{
		{int32(1), 1, 0}, {int64(1024), 1024, 0}, {64.0, 64, 0},
		{0, 0, mongoerr.BadValue}, {1025, 0, mongoerr.BadValue}, {-3, 0, mongoerr.BadValue}, {2.5, 0, mongoerr.BadValue},
		{1e30, 0, mongoerr.BadValue}, {"64", 0, mongoerr.TypeMismatch}, {true, 0, mongoerr.TypeMismatch}, {nil, 0, mongoerr.TypeMismatch},
	} {
		s := Settings{MaxChunkSizeBytes: 5}
		checkCode(t, "chunk size", s.LoadChunkSize(doc(t, bson.D{e("value", c.value)})), c.code)
		if want := c.want << 20; c.code == 0 && s.MaxChunkSizeBytes != want || c.code != 0 && s.MaxChunkSizeBytes != 5 {
			t.Errorf("chunk size %v gives %d", c.value, s.MaxChunkSizeBytes)
		}
	}
	s := DefaultSettings()
	checkCode(t, "value missing", s.LoadChunkSize(doc(t, bson.D{})), mongoerr.NoSuchKey)
}

func TestLoadAutoMerge(t *testing.T) { // W16
	s := DefaultSettings()
	checkCode(t, "number", s.LoadAutoMerge(doc(t, bson.D{e("enabled", 1)})), mongoerr.TypeMismatch)
	checkCode(t, "missing", s.LoadAutoMerge(doc(t, bson.D{})), mongoerr.NoSuchKey)
	if !s.AutoMerge {
		t.Error("a failure changed the setting")
	}
	if err := s.LoadAutoMerge(doc(t, bson.D{e("enabled", false)})); err != nil || s.AutoMerge {
		t.Errorf("%v, %v", s.AutoMerge, err)
	}
}

// Spec 01 §2.1: what was read before a failure is in effect, the rest stays.
func TestLoadStopsAtFirstFailure(t *testing.T) { // W15
	s := DefaultSettings()
	s.MaxChunkSizeBytes, s.AutoMerge = 7, false
	documents := map[string]bson.Raw{
		SettingBalancer:  doc(t, bson.D{e("mode", "off")}),
		SettingChunkSize: doc(t, bson.D{e("value", "big")}),
		SettingAutoMerge: doc(t, bson.D{e("enabled", true)}),
	}
	var asked []string
	err := s.Load(func(id string) (bson.Raw, error) {
		asked = append(asked, id)
		return documents[id], nil
	})
	checkCode(t, "bad chunk size", err, mongoerr.TypeMismatch)
	if s.Mode != ModeOff || s.MaxChunkSizeBytes != 7 || s.AutoMerge {
		t.Errorf("%+v", s)
	}
	if strings.Join(asked, " ") != "balancer chunksize" {
		t.Errorf("asked for %v", asked)
	}
	if !strings.Contains(err.Error(), "chunk size settings :: caused by :: ") {
		t.Errorf("the message does not name the group: %v", err)
	}
	lost := errors.New("connection lost")
	if err := s.Load(func(string) (bson.Raw, error) { return nil, lost }); !errors.Is(err, lost) {
		t.Errorf("%v", err)
	}
}

func TestShould(t *testing.T) {
	noon := time.Date(2024, 5, 1, 12, 0, 0, 0, time.Local)
	night := &Window{22 * 60, 5 * 60}
	for _, c := range []struct {
		settings           Settings
		balance, autoMerge bool
	}{
		{Settings{Mode: ModeFull, AutoMerge: true}, true, true},
		{Settings{Mode: ModeFull}, true, false},
		{Settings{Mode: ModeOff, AutoMerge: true}, false, false},
		{Settings{Mode: ModeFull, AutoMerge: true, Window: night}, false, false},
	} {
		if got := c.settings.ShouldBalance(noon); got != c.balance {
			t.Errorf("%+v: balance %v", c.settings, got)
		}
		if got := c.settings.ShouldAutoMerge(noon); got != c.autoMerge {
			t.Errorf("%+v: auto-merge %v", c.settings, got)
		}
	}
}

func TestWindowContains(t *testing.T) { // W08, W09
	for _, c := range []struct {
		start, stop string
		in, out     []string
	}{
		{"21:30", "23:00", []string{"21:30:00", "23:00:00"}, []string{"21:29:59", "23:00:01"}},
		{"22:00", "05:15", []string{"22:00:00", "00:00:00", "05:15:00"}, []string{"21:59:59", "05:15:01", "12:00:00"}},
	} {
		w, err := ParseWindow(value(t, bson.D{e("start", c.start), e("stop", c.stop)}))
		if err != nil {
			t.Fatal(err)
		}
		check := func(at string, want bool) {
			clock, err := time.ParseInLocation(time.TimeOnly, at, time.Local)
			if err != nil {
				t.Fatal(err)
			}
			if got := w.Contains(clock.Add(999 * time.Millisecond)); got != want {
				t.Errorf("%s in %s: %v", at, w, got)
			}
		}
		for _, at := range c.in {
			check(at, true)
		}
		for _, at := range c.out {
			check(at, false)
		}
	}
	var always *Window
	if !always.Contains(time.Now()) || always.String() != "always" {
		t.Error("no window is not always open")
	}
}

func value(t testing.TB, v any) bson.RawValue {
	t.Helper()
	if v == nil {
		v = bson.Null{}
	}
	typ, data, err := bson.MarshalValue(v)
	if err != nil {
		t.Fatal(err)
	}
	return bson.RawValue{Type: typ, Value: data}
}

func TestParseWindow(t *testing.T) { // W10 to W12
	if w, err := ParseWindow(bson.RawValue{}); w != nil || err != nil {
		t.Errorf("absent: %v, %v", w, err)
	}
	for _, c := range []struct {
		window any
		code   mongoerr.Code
	}{
		{bson.D{e("start", "4:00"), e("stop", "04:00")}, mongoerr.BadValue},
		{bson.D{e("start", "4:00")}, mongoerr.BadValue},
		{bson.D{}, mongoerr.BadValue},
		{bson.D{e("start", "4:00"), e("stop", 5)}, mongoerr.BadValue},
		{bson.D{e("start", ""), e("stop", "5:00")}, mongoerr.BadValue},
		{"4-5", mongoerr.TypeMismatch},
		{bson.A{"4:00", "5:00"}, mongoerr.TypeMismatch},
		{bson.D{e("start", "25:00"), e("stop", "1:00")}, mongoerr.BadValue},
		{bson.D{e("start", "1:00"), e("stop", "1:75")}, mongoerr.BadValue},
	} {
		_, err := ParseWindow(value(t, c.window))
		checkCode(t, "window", err, c.code)
	}
}

func TestTimeOfDay(t *testing.T) { // spec 01 §2.3
	for _, c := range []struct{ text, want string }{
		{"9:00", "09:00"}, {"09:00", "09:00"}, {"9:0", "09:00"}, {"9:5", "09:05"}, {"08:15:59", "08:15"}, {"8:15pm", "08:15"},
		{"9: 30", "09:30"}, {" 9:30", "09:30"}, {"+9:30", "09:30"}, {"0:00", "00:00"}, {"23:59", "23:59"},
		{"24:00", ""}, {"12:60", ""}, {"23", ""}, {"9-00", ""}, {"00.00", ""}, {"", ""}, {"9 :00", ""}, {":30", ""}, {"9:", ""}, {"9:x", ""},
		{"-1:30", ""}, {"1:-30", ""}, {"99999999999999999999:00", ""}, // the first two are our deviation, §13
	} {
		got, ok := parseTimeOfDay(c.text)
		if ok != (c.want != "") || ok && got.String() != c.want {
			t.Errorf("%q is %v, %v; want %q", c.text, got, ok, c.want)
		}
	}
}

func TestThrottle(t *testing.T) { // spec 01 §2.5, W13
	one := doc(t, bson.D{e("w", int32(1)), e("wtimeout", int32(0))})
	for _, c := range []struct {
		name    string
		value   any // nil = absent
		state   ThrottleState
		sent    bool
		concern bson.D // nil = {w: 1, wtimeout: 0}
		code    mongoerr.Code
	}{
		{"absent", nil, ThrottleDefault, false, nil, 0},
		{"true", true, ThrottleOn, true, nil, 0},
		{"false", false, ThrottleOff, false, nil, 0},
		{"w 1", bson.D{e("w", 1)}, ThrottleOff, false, nil, 0},
		{"w 0", bson.D{e("w", 0.0)}, ThrottleOff, false, nil, 0},
		{"w absent", bson.D{e("wtimeout", 100)}, ThrottleOff, false, nil, 0},
		{"w 2", bson.D{e("w", 2)}, ThrottleOn, true, bson.D{e("w", 2)}, 0},
		{"majority", bson.D{e("w", "majority"), e("j", true)}, ThrottleOn, true, bson.D{e("w", "majority"), e("j", true)}, 0},
		{"tags", bson.D{e("w", bson.D{e("dc", 2)})}, ThrottleOn, true, bson.D{e("w", bson.D{e("dc", 2)})}, 0},
		{"number", 5, 0, false, nil, mongoerr.TypeMismatch},
		{"text", "yes", 0, false, nil, mongoerr.TypeMismatch},
		{"empty", bson.D{}, 0, false, nil, mongoerr.FailedToParse},
		{"unknown field", bson.D{e("x", 2)}, 0, false, nil, mongoerr.FailedToParse},
		{"too many nodes", bson.D{e("w", 51)}, 0, false, nil, mongoerr.FailedToParse},
		{"w bool", bson.D{e("w", true)}, 0, false, nil, mongoerr.FailedToParse},
		{"wtimeout text", bson.D{e("w", 2), e("wtimeout", "x")}, 0, false, nil, mongoerr.TypeMismatch},
		{"j and fsync", bson.D{e("w", 2), e("j", true), e("fsync", true)}, 0, false, nil, mongoerr.FailedToParse},
	} {
		var v bson.RawValue
		if c.value != nil {
			v = value(t, c.value)
		}
		got, err := ParseThrottle(v)
		checkCode(t, c.name, err, c.code)
		if err != nil {
			continue
		}
		sent, concern := got.Sent()
		want := one
		if c.concern != nil {
			want = doc(t, c.concern)
		}
		if got.State != c.state || sent != c.sent || string(concern) != string(want) {
			t.Errorf("%s: %+v sends %v %s, want %v %v %s", c.name, got, sent, concern, c.state, c.sent, want)
		}
	}
}

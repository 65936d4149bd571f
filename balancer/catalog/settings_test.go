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

// checkCode compares the code of an error with the one that a test expects: 0 for none.
func checkCode(t *testing.T, name string, err error, want mongoerr.Code) {
	t.Helper()
	got, ok := mongoerr.CodeOf(err)
	if want == 0 && err != nil || want != 0 && (!ok || got != want) {
		t.Errorf("%s: error %v, want code %d", name, err, want)
	}
}

func e(key string, value any) bson.E { return bson.E{Key: key, Value: value} }

func TestSettingsWithoutDocuments(t *testing.T) { // W01
	s := Settings{Mode: ModeOff, WaitForDelete: true, Window: &Window{0, 1}}
	if err := s.Load(func(string) (bson.Raw, error) { return nil, nil }); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(s, DefaultSettings()) || s.Mode != ModeFull || s.MaxChunkSizeBytes != 128<<20 || !s.AutoMerge {
		t.Errorf("%+v", s)
	}
}

// rules/01-rounds-and-settings §2.1: what was read before a failure is in effect, the rest stays.
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

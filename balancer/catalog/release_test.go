package catalog

import (
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mongoerr"
)

func TestParseRelease(t *testing.T) {
	for _, r := range Releases() {
		if got, err := ParseRelease(r.String()); err != nil || got != r {
			t.Errorf("%s is read as %s: %v", r, got, err)
		}
	}
	for _, text := range []string{"", "8", "8.0.x", "8.0.", "8.0.010", "8.0.255", "8.4", "9.1", "x"} {
		if _, err := ParseRelease(text); err == nil || !strings.Contains(err.Error(), "2.4, 3.4, 3.6, 4.0") {
			t.Errorf("%q: %v, want the list of releases", text, err)
		}
	}
	for version, want := range map[string]string{
		"8.0.10": "8.0.10", "8.2.1": "8.2.1", "8.1.0": "8.1.0", "8.3.0-rc1": "8.3.0", "9.0.2": "9.0.2", "9.1.0": "9.0",
		"10.0.1": "9.0", "8.4.0": "8.3", "5.0.7": "5.0.7", "5.3.0": "5.0", "8.0": "8.0", "8.0.10-4-g1a2b": "8.0.10",
		"4.2.0": "4.2.0", "4.0.28": "4.0.28", "3.6.1": "3.6.1", "3.5.3": "3.4", "3.2.0": "2.4", "2.4.9": "2.4.9", "2.2.0": "",
		"rubbish": "",
	} {
		got, ok := ReleaseOf(version)
		if ok != (want != "") || ok && got.String() != want {
			t.Errorf("%s is of %s, %v; want %s", version, got, ok, want)
		}
	}
}

// A patch, a compatibility version, and what is newer than all that is known.
func TestPartsOfARelease(t *testing.T) {
	r, _ := ReleaseOf("8.0.20")
	if n, known := r.Patch(); n != 20 || !known || r.Line() != Release80 || r.FCV() != Release80 || r.IsNewerThanKnown() {
		t.Errorf("8.0.20 is %+v", r)
	}
	if old := r.WithFCV("7.0"); old.FCVAtLeast(Release80) || !old.FCVAtLeast(Release70) || old.FCV() != Release70 ||
		old.Line() != Release80 || !old.DonorBelongsToZone() || old.WithFCV("") != r || old.WithFCV("8.0") != r ||
		r.WithFCV("9.0") != r {
		t.Errorf("8.0.20 with 7.0 is %+v", old)
	}
	if _, known := Release80.Patch(); known {
		t.Error("a line has no patch")
	}
	for version, want := range map[string]bool{"9.0.7": false, "9.1.0": true, "10.2.0": true, "8.4.0": false, "7.3.1": false} {
		if r, _ := ReleaseOf(version); r.IsNewerThanKnown() != want || want && (!r.DonorBelongsToZone() || r.ForcesDrains()) {
			t.Errorf("%s is newer: %v", version, r.IsNewerThanKnown())
		}
	}
}

// What differs after 8.0.10, by release and patch. Where the release notes do not say, it
// is inferred (docs/releases.md).
func TestWhatDiffersAfter80(t *testing.T) {
	columns := []string{"8.0.0", "8.0.10", "8.0.19", "8.0.20", "8.1.0", "8.2.0", "8.2.5", "8.2.6", "8.3.0", "9.0.0"}
	for _, row := range []struct {
		name string
		has  func(Release) bool
		want string
	}{
		{"donor of a size move belongs to the zone", Release.DonorBelongsToZone, "---x---xxx"},
		{"a draining shard gives", Release.DrainingShardsDonate, "xxxxx-----"},
		{"drains are forced", Release.ForcesDrains, "xxxxxxx---"},
		{"machine ids are checked", Release.ChecksMachineIDs, "xxxxxxxxx-"},
		{"moves carry the epoch", Release.SendsEpoch, "xxxxxxxxx-"},
		{"allowChunkOperations", Release.HasChunkOperationsFlag, "---------x"},
		{"windows of weekdays", Release.ReadsDayWindows, "--------xx"},
		{"the balancer's settings are one structure", Release.ParsesBalancerSettingsStrictly, "--------xx"},
		{"random migrations of config, by the donor", Release.RandomMovesByDonor, "---------x"},
		{"that nothing can receive is a warning", Release.WarnsOfMissingRecipients, "-----xxxxx"},
		{"the flag for unsharded collections is known", Release.HasBalanceUnshardedFlag, "xxxxxxxxx-"},
		{"config servers check the range of a move", Release.ChecksMovedRanges, "---------x"},
		{"config servers look for zones that end early", Release.FindsMaxKeyZones, "---------x"},
		{"reads of orphans end", Release.EndsReadsOfOrphans, "-----xxxxx"},
		{"range deletions without an index are found", Release.FindsDeletionsWithoutIndex, "-----xxxxx"},
		{"histories of chunks are looked at", Release.ChecksChunkHistories, "---x----xx"},
		{"buckets without options are found", Release.FindsMalformedBuckets, "--------xx"},
		{"unique indexes without the shard key are found", Release.FindsIncompatibleUniqueIndexes, "---------x"},
		{"serverStatus shows critical sections", Release.ShowsCriticalSections, "--------xx"},
		{"one query in a hundred is counted", Release.SamplesQueryStats, "---------x"},
		{"refused requests are counted by shard", Release.CountsOverload, "---x-xxxxx"},
		{"a former config shard drops its orphans", Release.DropsOrphansOfConfig, "--------xx"},
		{"draining has commands", Release.HasDrainCommands, "--------xx"},
		{"ignoreRemovedShards", Release.SupportsIgnoreRemovedShards, "--------xx"},
		{"fields of $group need a name", Release.RefusesEmptyGroupFields, "---------x"},
		{"null matches within arrays", Release.YieldsNullsInArrays, "---------x"},
		{"serverStatus has the field service", Release.ShowsServiceField, "xxxxxxxx--"},
		{"shards own metadata", Release.ShardsOwnMetadata, "---------x"},
		{"compound wildcard indexes serve the key", Release.WildcardServesKey, "xx--xx----"},
		{"an hour until deletions", func(r Release) bool { return r.CleanupDelay() == time.Hour }, "-----xxxxx"},
	} {
		for i, version := range columns {
			r, err := ParseRelease(version)
			if want := row.want[i] == 'x'; err != nil || row.has(r) != want {
				t.Errorf("%s in %s: want %v, %v", row.name, version, want, err)
			}
		}
	}
	for patch, drops := range map[uint8]bool{6: false, 7: true} { // between two of the columns
		if r := Release82.WithPatch(patch); r.DropsOrphansOfConfig() != drops {
			t.Errorf("%s drops the orphans of a former config shard: %v", r, !drops)
		}
	}
	if r := Release90.WithFCV("8.3"); !r.YieldsNullsInArrays() || r.ShardsOwnMetadata() || r.FindsMaxKeyZones() || !r.HasChunkOperationsFlag() {
		t.Error("what shards own goes by the compatibility version, the flag does not")
	}
	old := Release83.WithFCV("8.0")
	if old.ReadsDayWindows() || !old.IgnoresDayWindows() || Release83.IgnoresDayWindows() || Release80.IgnoresDayWindows() {
		t.Error("windows of weekdays go by the compatibility version")
	}
}

// What the balancer document means in the releases (rules/01-rounds-and-settings §2.2 and §2.3).
func TestBalancerSettingsOfReleases(t *testing.T) {
	badWindow := bson.D{e("activeWindow", bson.D{e("start", "4"), e("stop", "5:00")})}
	for _, c := range []struct {
		name    string
		release Release
		doc     bson.D
		mode    Mode
		code    mongoerr.Code
	}{
		{"W06 in 5.0", Release50, bson.D{e("mode", "auto")}, "", mongoerr.BadValue},
		{"W06 in 8.0", Release80, bson.D{e("mode", "auto")}, ModeOff, 0},
		{"an unknown mode in 8.2", Release82, bson.D{e("mode", "auto")}, ModeOff, 0},
		{"an unknown mode in 8.3", Release83, bson.D{e("mode", "auto")}, "", mongoerr.BadValue},
		{"an unknown mode in 8.3, stopped", Release83, bson.D{e("mode", "auto"), e("stopped", true)}, "", mongoerr.BadValue},
		{"an unknown mode in 8.0, stopped", Release80, bson.D{e("mode", "auto"), e("stopped", true)}, ModeOff, 0},
		{"an empty window in 8.2", Release82, bson.D{e("activeWindow", bson.D{})}, "", mongoerr.BadValue},
		{"an empty window in 8.3", Release83, bson.D{e("activeWindow", bson.D{})}, "", mongoerr.IDLFailedToParse},
		{"a bad window in 8.3", Release83, badWindow, "", mongoerr.BadValue},
		{"W06, hidden by stopped", Release50, bson.D{e("mode", "auto"), e("stopped", true)}, ModeOff, 0},
		{"autoSplitOnly in 4.4", Release44, bson.D{e("mode", "autoSplitOnly")}, ModeAutoSplitOnly, 0},
		{"autoSplitOnly in 6.0", Release60, bson.D{e("mode", "autoSplitOnly")}, ModeOff, 0},
		{"2.4 has no mode", Release24, bson.D{e("mode", "off")}, ModeFull, 0},
		{"2.4 has stopped", Release24, bson.D{e("stopped", true)}, ModeOff, 0},
		{"a bad window in 2.4", Release24, badWindow, ModeFull, 0},
		{"a bad window in 3.4", Release34, badWindow, "", mongoerr.BadValue},
		{"jumbo chunks in 3.4", Release34, bson.D{e("attemptToBalanceJumboChunks", "yes")}, ModeFull, 0},
		{"jumbo chunks in 4.4", Release44, bson.D{e("attemptToBalanceJumboChunks", "yes")}, "", mongoerr.TypeMismatch},
	} {
		s := DefaultSettingsOf(c.release)
		err := s.LoadBalancer(doc(t, c.doc))
		checkCode(t, c.name, err, c.code)
		if err == nil && s.Mode != c.mode {
			t.Errorf("%s: mode %s, want %s", c.name, s.Mode, c.mode)
		}
	}
}

// Which documents a release reads, and what it does without them.
func TestSettingsOfReleases(t *testing.T) {
	for _, c := range []struct {
		release          Release
		read             string
		chunkMB          int64
		merges, autoSplt bool
	}{
		{Release24, "balancer chunksize", 64, false, true},
		{Release34, "balancer chunksize autosplit", 64, false, true},
		{Release50, "balancer chunksize autosplit", 64, false, true},
		{Release60, "balancer chunksize", 128, false, false},
		{Release70, "balancer chunksize automerge", 128, true, false},
		{Release{}, "balancer chunksize automerge", 128, true, false},
		{Release83, "balancer chunksize automerge", 128, true, false},
	} {
		var read []string
		s := DefaultSettingsOf(c.release)
		err := s.Load(func(id string) (bson.Raw, error) {
			read = append(read, id)
			return nil, nil
		})
		noon := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
		if err != nil || strings.Join(read, " ") != c.read || s.MaxChunkSizeBytes != c.chunkMB<<20 ||
			s.ShouldAutoMerge(noon) != c.merges || s.ShouldAutoSplit(noon) != c.autoSplt {
			t.Errorf("%s reads %v: %+v, %v", c.release, read, s, err)
		}
	}
	s := DefaultSettingsOf(Release44)
	checkCode(t, "autosplit without enabled", s.LoadAutoSplit(doc(t, bson.D{})), mongoerr.NoSuchKey)
	if err := s.LoadAutoSplit(doc(t, bson.D{e("enabled", false)})); err != nil || s.ShouldAutoSplit(time.Now()) {
		t.Errorf("auto-split off: %+v, %v", s, err)
	}
}

// rules/01-rounds-and-settings §2.4 and rules/01-examples-and-traps §12, trap 18.
func TestTrap18WindowsOfDays(t *testing.T) {
	monday := func(day string) bson.D { return bson.D{e("day", day), e("start", "22:00"), e("stop", "6:00")} }
	at := func(day, clock string) time.Time { // 2026-03-02 is a Monday
		when, err := time.Parse("2006-01-02 15:04:05", "2026-03-"+day+" "+clock)
		if err != nil {
			t.Fatal(err)
		}
		return when
	}
	s := DefaultSettingsOf(Release83)
	// A window beside it is not even looked at.
	if err := s.LoadBalancer(doc(t, bson.D{e("activeWindow", 7), e("activeWindowDOW", bson.A{monday("Monday"),
		bson.D{e("day", "Wednesday"), e("start", "1:00"), e("stop", "2:00")},
		bson.D{e("day", "Wednesday"), e("start", "5:00"), e("stop", "5:30")}})})); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		day, clock string
		want       bool
	}{
		{"02", "00:00:00", true}, {"02", "06:00:00", true}, {"02", "06:00:01", false}, {"02", "21:59:59", false},
		{"02", "22:00:00", true},
		{"03", "00:00:00", false}, {"03", "03:00:00", false},
		{"04", "01:30:00", true}, {"04", "03:00:00", false}, {"04", "05:30:00", true},
		{"05", "12:00:00", false},
	} {
		if got := s.ShouldBalance(at(c.day, c.clock)); got != c.want {
			t.Errorf("2026-03-%s %s: %v", c.day, c.clock, got)
		}
	}

	// The example of the windows' definition: ends are inclusive at one second, and a window that
	// ends before it begins is of one day, before its end and after its start.
	example := DefaultSettingsOf(Release90)
	if err := example.LoadBalancer(doc(t, bson.D{e("activeWindowDOW", bson.A{monday("Monday"),
		bson.D{e("day", "Saturday"), e("start", "00:00"), e("stop", "23:59")}})})); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		day, clock string
		want       bool
	}{
		{"02", "05:59:00", true}, {"02", "06:00:01", false}, {"02", "23:00:00", true}, {"03", "02:00:00", false},
		{"07", "23:59:00", true}, {"07", "23:59:01", false},
	} {
		if got := example.ShouldBalance(at(c.day, c.clock)); got != c.want {
			t.Errorf("the example, 2026-03-%s %s: %v", c.day, c.clock, got)
		}
	}

	for _, c := range []struct {
		name  string
		value any
		code  mongoerr.Code
	}{
		{"no array", "Monday", mongoerr.TypeMismatch},
		{"no document", bson.A{1}, mongoerr.BadValue},
		{"no day", bson.A{bson.D{e("start", "1:00"), e("stop", "2:00")}}, mongoerr.IDLFailedToParse},
		{"bad day", bson.A{monday("monday")}, mongoerr.BadValue},
		{"no stop", bson.A{bson.D{e("day", "Monday"), e("start", "1:00")}}, mongoerr.IDLFailedToParse},
		{"start is stop", bson.A{bson.D{e("day", "Monday"), e("start", "1:00"), e("stop", "01:00")}}, mongoerr.BadValue},
		{"empty: activeWindow applies", bson.A{}, 0},
	} {
		s := DefaultSettingsOf(Release83)
		checkCode(t, c.name, s.LoadBalancer(doc(t, bson.D{e("activeWindowDOW", c.value)})), c.code)
	}
	// With an old compatibility version the other window applies, and is validated.
	behind := DefaultSettingsOf(Release83.WithFCV("8.0"))
	one := bson.D{e("activeWindowDOW", bson.A{monday("Monday")}),
		e("activeWindow", bson.D{e("start", "1:00"), e("stop", "2:00")})}
	if err := behind.LoadBalancer(doc(t, one)); err != nil || !behind.DaysIgnored || len(behind.Days) > 0 ||
		!behind.ShouldBalance(at("05", "01:30:00")) || behind.ShouldBalance(at("02", "23:00:00")) {
		t.Errorf("8.3 with the compatibility version 8.0: %+v, %v", behind, err)
	}
	one[1].Value = 7
	checkCode(t, "its window is validated", behind.LoadBalancer(doc(t, one)), mongoerr.TypeMismatch)
	old := DefaultSettingsOf(Release80)
	if err := old.LoadBalancer(doc(t, bson.D{e("activeWindowDOW", "rubbish")})); err != nil ||
		!old.ShouldBalance(at("05", "12:00:00")) {
		t.Errorf("8.0 reads activeWindowDOW: %v", err)
	}
}

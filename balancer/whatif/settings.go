package whatif

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

func settingKinds() []ChangeKind {
	return []ChangeKind{
		{"balancer", "Turns the balancer on or off.", "balancer on", []usageForm{
			{"on|off", func(w []string) (edit, error) { return parseSwitch(w[0], setMode) }},
		}},
		{"window", "Sets the balancing window: two times of the day, or always.", "window 23:00 05:00", []usageForm{
			{"always|START-STOP", func(w []string) (edit, error) {
				if w[0] == "always" {
					return setWindow(nil), nil
				}
				start, stop, ok := strings.Cut(w[0], "-")
				if !ok {
					return nil, fmt.Errorf("%s is not a valid window", w[0])
				}
				return parseWindow(start, stop)
			}},
			{"START STOP", func(w []string) (edit, error) { return parseWindow(w[0], w[1]) }},
		}},
		{"chunkSize", "Sets the chunk size, of the cluster or of a collection, in MiB.", "chunkSize shop.orders 256",
			[]usageForm{
				{"MB", func(w []string) (edit, error) { return parseClusterChunkSize(w[0]) }},
				{"NS MB", func(w []string) (edit, error) { return parseCollectionChunkSize(w[0], w[1]) }},
			}},
		{"balanceJumbo", "Lets the balancer try jumbo chunks, or not.", "balanceJumbo on", []usageForm{
			{"on|off", func(w []string) (edit, error) { return parseSwitch(w[0], setAttemptJumbo) }},
		}},
		{"autoMerge", "Turns the auto-merger on or off.", "autoMerge off", []usageForm{
			{"on|off", func(w []string) (edit, error) { return parseSwitch(w[0], setAutoMerge) }},
		}},
		{"release", "Sets the release of the servers, with its balancing rules.", "release 8.0", []usageForm{
			{"VERSION", func(w []string) (edit, error) {
				r, err := catalog.ParseRelease(w[0])
				return setRelease(r), err
			}},
		}},
	}
}

// parseSwitch parses on or off.
func parseSwitch(word string, set func(s *catalog.Snapshot, on bool) (*catalog.Snapshot, error)) (edit, error) {
	on, ok := map[string]bool{"on": true, "true": true, "off": false, "false": false}[word]
	if !ok {
		return nil, fmt.Errorf("%q is not on or off", word)
	}
	return func(s *catalog.Snapshot) (*catalog.Snapshot, error) { return set(s, on) }, nil
}

// setMode turns the balancer and the auto-merger on or off, as balancerStart and balancerStop do.
func setMode(s *catalog.Snapshot, on bool) (*catalog.Snapshot, error) {
	parts := s.Parts()
	parts.Settings.Mode, parts.Settings.UnknownMode = catalog.ModeOff, ""
	if on {
		parts.Settings.Mode = catalog.ModeFull
	}
	parts.Balancer.Mode = parts.Settings.Mode
	parts.Settings.AutoMerge = on && parts.Release.AutoMerges()
	return catalog.NewSnapshot(parts), nil
}

func parseWindow(start, stop string) (edit, error) {
	raw, err := bson.Marshal(bson.D{{Key: "start", Value: start}, {Key: "stop", Value: stop}})
	if err != nil {
		return nil, err
	}
	w, err := catalog.ParseWindow(bson.RawValue{Type: bson.TypeEmbeddedDocument, Value: raw})
	return setWindow(w), err
}

// setWindow sets the balancer window of all days.
func setWindow(w *catalog.Window) edit {
	return func(s *catalog.Snapshot) (*catalog.Snapshot, error) {
		settings := s.Settings()
		settings.Window, settings.Days = w, nil
		return s.WithSettings(settings), nil
	}
}

// parseChunkSize parses a chunk size.
func parseChunkSize(word string, least int64) (int64, error) {
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil || n < least || n > 1024 {
		return 0, fmt.Errorf("%s is not a chunk size from %d to 1024 MiB", word, least)
	}
	return n << 20, nil
}

func parseClusterChunkSize(word string) (edit, error) {
	bytes, err := parseChunkSize(word, 1)
	return func(s *catalog.Snapshot) (*catalog.Snapshot, error) {
		settings := s.Settings()
		settings.MaxChunkSizeBytes = bytes
		return s.WithSettings(settings), nil
	}, err
}

// parseCollectionChunkSize returns an edit that sets the chunk size of a collection; 0 removes it, so
// that the cluster's chunk size applies.
func parseCollectionChunkSize(ns, word string) (edit, error) {
	bytes, err := parseChunkSize(word, 0)
	return newCollectionEdit(ns, func(r catalog.Release, c *catalog.CollectionState) error {
		if !r.BalancesBySize() {
			return fmt.Errorf("%s has no chunk size for a collection, which came with 6.0: chunkSize MB "+
				"sets that of the cluster", r)
		}
		c.MaxChunkSizeBytes = bytes
		return nil
	}), err
}

func setAttemptJumbo(s *catalog.Snapshot, on bool) (*catalog.Snapshot, error) {
	if !s.Release().FCVAtLeast(catalog.Release44) {
		return nil, errors.New("this setting came with 4.4")
	}
	settings := s.Settings()
	settings.AttemptJumbo = on
	return s.WithSettings(settings), nil
}

func setAutoMerge(s *catalog.Snapshot, on bool) (*catalog.Snapshot, error) {
	if !s.Release().AutoMerges() {
		return nil, fmt.Errorf("%s has no auto-merger, which came with 7.0", s.Release())
	}
	settings := s.Settings()
	settings.AutoMerge = on
	return s.WithSettings(settings), nil
}

// setRelease interprets the stored settings as another release does.
func setRelease(r catalog.Release) edit {
	return func(s *catalog.Snapshot) (*catalog.Snapshot, error) {
		parts := s.Parts()
		settings := catalog.DefaultSettingsOf(r)
		err := settings.Load(func(id string) (bson.Raw, error) {
			doc := parts.Settings.Doc(id)
			if doc == nil {
				return nil, nil
			}
			return bson.Marshal(doc)
		})
		if err != nil {
			return nil, err
		}
		parts.Release, parts.Version, parts.Settings = r, r.String(), settings
		return catalog.NewSnapshot(parts), nil
	}
}

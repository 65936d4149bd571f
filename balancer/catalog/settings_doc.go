package catalog

import "go.mongodb.org/mongo-driver/v2/bson"

// Doc returns the document of config.settings with an id for these settings; nil if none is needed, or
// if the release does not know the id. Load restores the settings from the documents. Days are stored
// as windows, and an unknown mode is stored unchanged.
func (s Settings) Doc(id string) bson.D {
	switch {
	case id == SettingBalancer:
		return s.balancerDoc()
	case id == SettingChunkSize && s.MaxChunkSizeBytes != s.Release.DefaultChunkSize():
		return bson.D{{Key: "_id", Value: id}, {Key: "value", Value: s.MaxChunkSizeBytes >> 20}}
	case id == SettingAutoMerge && s.Release.AutoMerges():
		return bson.D{{Key: "_id", Value: id}, {Key: "enabled", Value: s.AutoMerge}}
	case id == SettingAutoSplit && s.Release.AutoSplits():
		return bson.D{{Key: "_id", Value: id}, {Key: "enabled", Value: s.AutoSplit}}
	}
	return nil
}

func (s Settings) balancerDoc() bson.D {
	doc := bson.D{{Key: "_id", Value: SettingBalancer}}
	switch {
	case s.UnknownMode != "":
		doc = append(doc, bson.E{Key: "mode", Value: s.UnknownMode})
	case s.Release.HasConfigServerBalancer():
		doc = append(doc, bson.E{Key: "mode", Value: string(s.Mode)})
	default:
		doc = append(doc, bson.E{Key: "stopped", Value: s.Mode == ModeOff})
	}
	if len(s.Days) > 0 {
		days := make(bson.A, len(s.Days))
		for i, d := range s.Days {
			days[i] = append(bson.D{{Key: "day", Value: d.Day.String()}}, d.doc()...)
		}
		doc = append(doc, bson.E{Key: "activeWindowDOW", Value: days})
	}
	if s.Window != nil {
		doc = append(doc, bson.E{Key: "activeWindow", Value: s.Window.doc()})
	}
	switch {
	case s.SecondaryThrottle.WriteConcern != nil:
		doc = append(doc, bson.E{Key: "_secondaryThrottle", Value: s.SecondaryThrottle.WriteConcern})
	case s.SecondaryThrottle.State != ThrottleDefault:
		doc = append(doc, bson.E{Key: "_secondaryThrottle", Value: s.SecondaryThrottle.State == ThrottleOn})
	}
	if s.WaitForDelete {
		doc = append(doc, bson.E{Key: "_waitForDelete", Value: true})
	}
	if s.AttemptJumbo {
		doc = append(doc, bson.E{Key: "attemptToBalanceJumboChunks", Value: true})
	}
	return doc
}

func (w Window) doc() bson.D {
	return bson.D{{Key: "start", Value: w.Start.String()}, {Key: "stop", Value: w.Stop.String()}}
}

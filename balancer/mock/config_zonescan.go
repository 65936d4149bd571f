package mock

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// Since 9.0 the config servers search once, before the first round of a term, for zone ranges that end
// at MaxKey followed by MinKey.

// The document with the result of the scan, and log event ids.
const (
	configZoneScan = "maxKeyZoneScanState"
	zoneScanID     = "scanState"

	eventZoneScanned = 12829505
	eventZoneSkipped = 12829503
	eventZoneFound   = 12829504
	eventZoneFailed  = 12829506
)

// ZoneScan is the result of the zone scan.
type ZoneScan struct{ Complete, Found, Failed bool }

// ZoneScan returns the result of the scan for zones that end at MaxKey followed by MinKey.
func (b *Balancer) ZoneScan() ZoneScan {
	doc, _ := b.config.doc(configZoneScan, zoneScanID)
	_, ended := doc.Lookup("scanCompletedAt").TimeOK()
	found, _ := doc.Lookup("foundBuggyZone").BooleanOK()
	return ZoneScan{Complete: ended, Found: found, Failed: b.zoneScanFailed}
}

// scanZones runs the scan unless it is complete or switched off. A failed scan is repeated in the next
// term.
func (b *Balancer) scanZones() {
	release := b.installed.configRelease().WithFCV(engineCluster{b: b}.CompatibilityVersion(b.ctx))
	if !release.FindsMaxKeyZones() || b.parameters.Int("maxKeyZoneScanEnabled") == 0 {
		return
	}
	if b.ZoneScan().Complete {
		b.logger.Info("zones have been scanned before", "id", eventZoneSkipped)
		return
	}
	started := bson.NewDateTimeFromTime(b.clock.Now())
	found, err := b.hasEarlyEndingZone()
	if err == nil {
		b.config.remove(configZoneScan, zoneScanID)
		err = b.config.insert(configZoneScan, bson.D{
			{Key: "_id", Value: zoneScanID}, {Key: "scanStartedAt", Value: started},
			{Key: "scanCompletedAt", Value: bson.NewDateTimeFromTime(b.clock.Now())},
			{Key: "foundBuggyZone", Value: found}, {Key: "alertEmitted", Value: found},
			{Key: "binaryVersionAtScan", Value: FullVersion(release)}, {Key: "fcvAtScan", Value: release.FCV().String()},
		})
	}
	if b.zoneScanFailed = err != nil; b.zoneScanFailed {
		b.logger.Warn("zones could not be scanned", "id", eventZoneFailed, "error", err)
		return
	}
	if found {
		b.logger.Warn("a zone ends at MaxKey followed by MinKey", "id", eventZoneFound)
	}
	b.logger.Info("zones have been scanned", "id", eventZoneScanned)
}

// hasEarlyEndingZone reports whether a zone range of a sharded collection ends at MaxKey followed by
// MinKey instead of at MaxKey.
func (b *Balancer) hasEarlyEndingZone() (bool, error) {
	for _, raw := range b.config.Collection(configTags).Scan() {
		ns, _ := raw.Lookup("ns").StringValueOK()
		coll, known, err := b.config.ShardedEntry(ns)
		if err != nil {
			return false, err
		}
		end, _ := raw.Lookup("max").DocumentOK()
		if _, early := catalog.IntendedUpperBound(end); known && early && len(catalog.FieldNames(end)) == coll.Pattern.Len() {
			return true, nil
		}
	}
	return false, nil
}

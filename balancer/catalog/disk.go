package catalog

// Disk is the volume with the data of a shard's primary; the zero value is not known.
type Disk struct {
	Total int64
	// Used is what others have on the volume, too, and what is free inside of files.
	Used int64
}

// Known reports whether the sizes are known.
func (d Disk) Known() bool { return d.Total > 0 }

// Free returns the bytes that are free.
func (d Disk) Free() int64 { return max(0, d.Total-d.Used) }

// UsedShare returns what part of the volume is used, from 0 to 1.
func (d Disk) UsedShare() float64 {
	if d.Total <= 0 {
		return 0
	}
	return float64(d.Used) / float64(d.Total)
}

// FreeBelow returns how many bytes are free below a limit, which is a share of the volume. It is
// negative above.
func (d Disk) FreeBelow(limit float64) int64 { return int64(limit*float64(d.Total)) - d.Used }

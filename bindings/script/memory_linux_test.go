package script

import "testing"

func TestHalfOfMemory(t *testing.T) {
	const mib, noLimit = 1 << 20, 0x7ffffffffffff000 // as version 1 of cgroups writes it
	for name, c := range map[string]struct {
		info      map[string]uint64
		container []uint64
		want      uint64
	}{
		"half of what is free": {map[string]uint64{"MemTotal": 900 * mib, "MemAvailable": 200 * mib}, nil, 150 * mib},
		"an old kernel":        {map[string]uint64{"MemTotal": 900 * mib}, nil, 450 * mib},
		"a container":          {map[string]uint64{"MemTotal": 900 * mib, "MemAvailable": 800 * mib}, []uint64{64 * mib}, 32 * mib},
		"without a limit":      {map[string]uint64{"MemTotal": 900 * mib}, []uint64{noLimit}, 450 * mib},
		"nothing is known":     {nil, []uint64{noLimit}, 0},
		"only a container":     {nil, []uint64{64 * mib}, 32 * mib},
	} {
		if got := halfOfMemory(c.info, 100*mib, c.container); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

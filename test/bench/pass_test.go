//go:build unix

package bench

import (
	"encoding/binary"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"
)

// cost is what a work took once.
type cost struct {
	wall, cpu time.Duration
	memory    int64 // bytes at their most; 0 where that was not looked at
}

// timed measures what a function of this process takes, in all threads.
func timed(f func()) cost {
	began, before := time.Now(), cpuTime()
	f()
	return cost{wall: time.Since(began), cpu: cpuTime() - before}
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return cpuOf(&u)
}

func cpuOf(u *syscall.Rusage) time.Duration {
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// packedPass returns what measures the pass: 400,000 small documents are packed one
// behind the other, as BSON has them, read again, and counted by their text, several
// times. It makes no garbage, and its memory is there before: what that costs depends
// on what the machine did last. What other works have left to collect is collected before.
func packedPass(b *testing.B) func() time.Duration {
	b.Helper()
	const documents, longest, times = 400_000, 32, 8
	names := [4]string{"north", "south", "east", "west"}
	packed := make([]byte, 0, documents*longest)
	once := func() {
		packed = packed[:0]
		for i := range documents {
			start := len(packed)
			packed = append(packed, 0, 0, 0, 0, 0x12, 'n', 0)
			packed = binary.LittleEndian.AppendUint64(packed, uint64(i)*0x9e3779b97f4a7c15)
			name := names[i%len(names)]
			packed = append(packed, 0x02, 's', 0)
			packed = binary.LittleEndian.AppendUint32(packed, uint32(len(name)+1))
			packed = append(append(packed, name...), 0, 0)
			binary.LittleEndian.PutUint32(packed[start:], uint32(len(packed)-start))
		}
		counts, sum := [len(names)]int{}, uint64(0)
		for rest := packed; len(rest) > 0; {
			doc := rest[:binary.LittleEndian.Uint32(rest)]
			sum += binary.LittleEndian.Uint64(doc[7:])
			counts[slices.Index(names[:], string(doc[22:len(doc)-2]))]++
			rest = rest[len(doc):]
		}
		if counts[3] != documents/len(names) || sum == 0 {
			b.Fatal("the pass has lost documents")
		}
	}
	once()
	return func() time.Duration {
		runtime.GC()
		return timed(func() {
			for range times {
				once()
			}
		}).cpu
	}
}

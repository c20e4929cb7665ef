package capture_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"weir/internal/wire/capture"
)

// A capture whose end a lost write left as zeros: records of 0 bytes.
func TestZerosAreToldOf(t *testing.T) {
	var file bytes.Buffer
	file.Write([]byte{0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0})
	file.Write(make([]byte, 16*1000))
	a := capture.New(capture.Options{})
	if err := a.Read(context.Background(), &file); err != nil {
		t.Fatal(err)
	}
	r := a.Report()
	if len(r.Findings) != 1 || !strings.Contains(r.Findings[0].Summary, "1000 frames of 0 bytes") {
		t.Errorf("findings %+v, want one of 1000 frames of 0 bytes", r.Findings)
	}
}

package evidence

import (
	"os"
	"strings"
	"testing"
)

func TestDocumentIsUpToDate(t *testing.T) {
	const name = "../../../docs/evidence.md"
	var want strings.Builder
	if err := WriteTable(&want, Parsers()); err != nil {
		t.Fatal(err)
	}
	if os.Getenv("WEIR_UPDATE") != "" {
		if err := os.MkdirAll("../../../docs", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(want.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != want.String() {
		t.Errorf("docs/evidence.md does not show the parser table: WEIR_UPDATE=1 go test ./internal/field/evidence")
	}
}

// Renders cases with Go's own text/template, so that the engine in src/domain/notification/template can be held to it.
// Needs golang.org/x/text for the function Title (Debian: golang-golang-x-text-dev).
// Reads {fixtures, cases} from standard input and writes a list of {text} or {error: true}; see templates.test.ts.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"text/template"
	"time"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

type input struct {
	Fixtures map[string]fixture `json:"fixtures"`
	Cases    []struct {
		Template string `json:"template"`
		Fixture  string `json:"fixture"`
		Root     string `json:"root"`
	} `json:"cases"`
}

type fixture struct {
	Title    string  `json:"title"`
	Host     string  `json:"host"`
	TimeZone string  `json:"timeZone"`
	Entries  []line  `json:"entries"`
	Report   *report `json:"report"`
	Values   any     `json:"values"`
}

type line struct {
	Message string         `json:"message"`
	Level   string         `json:"level"`
	Data    map[string]any `json:"data"`
	AtMs    int64          `json:"atMs"`
}

// The data model of the Watchtower family, as its templates see it.

type staticData struct{ Title, Host string }

type root struct {
	staticData
	StaticData staticData
	Entries    []*entry
	Report     reportData
}

type entry struct {
	Message string
	Data    map[string]any
	Time    time.Time
	Level   string
}

type imageID string

func (id imageID) ShortID() string {
	short := strings.TrimPrefix(string(id), "sha256:")
	if len(short) > 12 {
		return short[:12]
	}
	return short
}

type container struct {
	NameText    string `json:"name"`
	ImageText   string `json:"imageName"`
	StateText   string `json:"state"`
	ErrorText   string `json:"error"`
	CurrentText string `json:"current"`
	LatestText  string `json:"latest"`
	Monitored   bool   `json:"monitored"`
	Cooldown    *struct {
		Age        string `json:"age"`
		Delay      string `json:"delay"`
		Remaining  string `json:"remaining"`
		Passed     bool   `json:"passed"`
		EligibleMs int64  `json:"eligibleAtMs"`
	} `json:"cooldown"`
}

func (c *container) ID() imageID             { return "" }
func (c *container) Name() string            { return c.NameText }
func (c *container) ImageName() string       { return c.ImageText }
func (c *container) State() string           { return c.StateText }
func (c *container) Error() string           { return c.ErrorText }
func (c *container) CurrentImageID() imageID { return imageID(c.CurrentText) }
func (c *container) LatestImageID() imageID  { return imageID(c.LatestText) }

func (c *container) NewContainerID() imageID { return "" }
func (c *container) IsMonitorOnly() bool     { return c.Monitored }

func (c *container) CooldownAge() string {
	if c.Cooldown == nil {
		return ""
	}
	return c.Cooldown.Age
}

func (c *container) CooldownDelay() string {
	if c.Cooldown == nil {
		return ""
	}
	return c.Cooldown.Delay
}

func (c *container) CooldownRemaining() string {
	if c.Cooldown == nil {
		return ""
	}
	return c.Cooldown.Remaining
}

func (c *container) CooldownPassed() bool { return c.Cooldown != nil && c.Cooldown.Passed }

func (c *container) CooldownEligibleAt() time.Time {
	if c.Cooldown == nil {
		return time.Time{}
	}
	return time.UnixMilli(c.Cooldown.EligibleMs)
}

type containerReport interface {
	ID() imageID
	Name() string
	ImageName() string
	State() string
	Error() string
	CurrentImageID() imageID
	LatestImageID() imageID
	NewContainerID() imageID
	IsMonitorOnly() bool
	CooldownAge() string
	CooldownDelay() string
	CooldownRemaining() string
	CooldownPassed() bool
	CooldownEligibleAt() time.Time
}

type reportData interface {
	All() []containerReport
	Scanned() []containerReport
	Updated() []containerReport
	Restarted() []containerReport
	Failed() []containerReport
	Fresh() []containerReport
	Stale() []containerReport
	Skipped() []containerReport
}

type report struct {
	Containers []*container `json:"containers"`
}

func (r *report) of(states ...string) []containerReport {
	found := []containerReport{}
	for _, one := range r.Containers {
		for _, state := range states {
			if one.StateText == state {
				found = append(found, one)
			}
		}
	}
	return found
}

func (r *report) Scanned() []containerReport {
	return r.of("Updated", "Restarted", "Failed", "Fresh", "Stale")
}
func (r *report) All() []containerReport {
	return r.of("Updated", "Restarted", "Failed", "Fresh", "Stale", "Skipped")
}
func (r *report) Updated() []containerReport   { return r.of("Updated") }
func (r *report) Restarted() []containerReport { return r.of("Restarted") }
func (r *report) Failed() []containerReport    { return r.of("Failed") }
func (r *report) Fresh() []containerReport     { return r.of("Fresh") }
func (r *report) Stale() []containerReport     { return r.of("Stale") }
func (r *report) Skipped() []containerReport   { return r.of("Skipped") }

func (r root) MarshalJSON() ([]byte, error) {
	entries := []map[string]any{}
	for _, one := range r.Entries {
		entries = append(entries, map[string]any{
			"level": one.Level, "message": one.Message, "data": one.Data, "time": one.Time,
		})
	}
	var shown map[string]any
	if r.Report != nil {
		shown = map[string]any{}
		lists := map[string][]containerReport{
			"scanned": r.Report.Scanned(), "updated": r.Report.Updated(), "restarted": r.Report.Restarted(),
			"failed": r.Report.Failed(), "fresh": r.Report.Fresh(), "stale": r.Report.Stale(), "skipped": r.Report.Skipped(),
		}
		for name, list := range lists {
			items := []map[string]any{}
			for _, one := range list {
				item := map[string]any{
					"id": one.ID().ShortID(), "name": one.Name(), "imageName": one.ImageName(), "state": one.State(),
					"currentImageId": one.CurrentImageID().ShortID(), "latestImageId": one.LatestImageID().ShortID(),
				}
				if one.Error() != "" {
					item["error"] = one.Error()
				}
				items = append(items, item)
			}
			shown[name] = items
		}
	}
	return json.Marshal(map[string]any{"entries": entries, "host": r.Host, "report": shown, "title": r.Title})
}

type porcelainContainer struct {
	Name            string `json:"name"`
	Image           string `json:"image"`
	ImageID         string `json:"image_id"`
	LatestImageID   string `json:"latest_image_id"`
	State           string `json:"state"`
	UpdateAvailable bool   `json:"update_available"`
	Error           string `json:"error,omitempty"`
}

func toPorcelainJSON(r reportData) string {
	containers := []porcelainContainer{}
	if r != nil {
		for _, one := range r.All() {
			containers = append(containers, porcelainContainer{
				one.Name(), one.ImageName(), one.CurrentImageID().ShortID(), one.LatestImageID().ShortID(),
				one.State(), one.CurrentImageID() != one.LatestImageID(), one.Error(),
			})
		}
	}
	return toJSON(struct {
		Containers []porcelainContainer `json:"containers"`
	}{containers})
}

func toJSON(value any) string {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func rfc1123(text string) string {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return text
	}
	return at.Format(time.RFC1123)
}

var functions = template.FuncMap{
	"ToUpper": strings.ToUpper, "ToLower": strings.ToLower, "ToJSON": toJSON,
	"ToPorcelainJSON": toPorcelainJSON, "RFC1123": rfc1123,
	"Title": cases.Title(language.AmericanEnglish).String,
}

// plain turns numbers into ints and floats, and {"$time": ms} into a time.
func plain(value any, zone *time.Location) any {
	switch value := value.(type) {
	case json.Number:
		if number, err := value.Int64(); err == nil {
			return int(number)
		}
		number, _ := value.Float64()
		return number
	case []any:
		for place, element := range value {
			value[place] = plain(element, zone)
		}
		return value
	case map[string]any:
		if at, ok := value["$time"].(json.Number); ok {
			ms, _ := at.Int64()
			return time.UnixMilli(ms).In(zone)
		}
		for key, element := range value {
			value[key] = plain(element, zone)
		}
		return value
	}
	return value
}

func dataOf(one fixture, kind string) any {
	zone, err := time.LoadLocation(one.TimeZone)
	if err != nil {
		panic(err)
	}
	time.Local = zone
	if kind == "values" {
		return plain(one.Values, zone)
	}
	entries := []*entry{}
	for _, each := range one.Entries {
		level := each.Level
		if level == "warn" {
			level = "warning"
		}
		data, _ := plain(each.Data, zone).(map[string]any)
		entries = append(entries, &entry{each.Message, data, time.UnixMilli(each.AtMs).In(zone), level})
	}
	if kind == "log" {
		return entries
	}
	statics := staticData{one.Title, one.Host}
	whole := root{staticData: statics, StaticData: statics, Entries: entries}
	if one.Report != nil {
		whole.Report = one.Report
	}
	return whole
}

func main() {
	var all input
	decoder := json.NewDecoder(os.Stdin)
	decoder.UseNumber()
	if err := decoder.Decode(&all); err != nil {
		panic(err)
	}
	results := []map[string]any{}
	for _, one := range all.Cases {
		// Data that was made plain is not made so twice.
		text, _ := json.Marshal(all.Fixtures[one.Fixture])
		var fresh fixture
		again := json.NewDecoder(strings.NewReader(string(text)))
		again.UseNumber()
		if err := again.Decode(&fresh); err != nil {
			panic(err)
		}
		var out strings.Builder
		parsed, err := template.New("case").Funcs(functions).Parse(one.Template)
		if err == nil {
			err = parsed.Execute(&out, dataOf(fresh, one.Root))
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			results = append(results, map[string]any{"error": true})
		} else {
			results = append(results, map[string]any{"text": out.String()})
		}
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(results); err != nil {
		panic(err)
	}
}

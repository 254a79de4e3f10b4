// PocketBase with a collection of animals that anybody may read and add to, so it checks no key. Arguments: the port,
// its data folder, and how many animals it begins with.
package main

import (
	"log"
	"os"
	"strings"

	"github.com/pocketbase/pocketbase"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/types"
)

func main() {
	port, folder, animals := os.Args[1], os.Args[2], os.Args[3]
	// PocketBase decides by these whether it opens its database.
	os.Args = []string{os.Args[0], "serve", "--http=127.0.0.1:" + port}
	app := pocketbase.NewWithConfig(pocketbase.Config{DefaultDataDir: folder, HideStartBanner: true})
	app.OnServe().BindFunc(func(e *core.ServeEvent) error {
		if err := fill(app, animals); err != nil {
			return err
		}
		return e.Next()
	})
	if err := app.Start(); err != nil {
		log.Fatal(err)
	}
}

func fill(app core.App, animals string) error {
	pets := core.NewBaseCollection("pets")
	pets.ListRule, pets.ViewRule, pets.CreateRule = types.Pointer(""), types.Pointer(""), types.Pointer("")
	pets.Fields.Add(
		&core.TextField{Name: "name", Required: true, Max: 255},
		&core.NumberField{Name: "categoryId", OnlyInt: true},
		&core.SelectField{Name: "status", Values: []string{"available", "pending", "sold"}},
	)
	pets.AddIndex("pets_by_status", false, "status, id", "")
	if err := app.Save(pets); err != nil {
		return err
	}
	_, err := app.DB().NewQuery(strings.ReplaceAll(`
		WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ANIMALS)
		INSERT INTO pets (id, name, categoryId, status)
		SELECT printf('%015d', n), 'Animal ' || n, n % 50,
		       CASE n % 3 WHEN 0 THEN 'available' WHEN 1 THEN 'pending' ELSE 'sold' END
		FROM numbers`, "ANIMALS", animals)).Execute()
	return err
}

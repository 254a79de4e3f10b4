/** Space, control characters, and characters without a shape such as U+200B. U+2800 has an empty one. */
const INVISIBLE = /^[\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]*$/u;

/** Whether the name has no visible character. */
export function isBlank(name: string): boolean {
  return INVISIBLE.test(name);
}

/** The name without the space around it. Tabs that keep a spreadsheet from running the name are part of it. */
export function trimName(name: string): string {
  const [tabs = ''] = /^\t+(?=[=+@-])/.exec(name) ?? [];
  return tabs + name.trim();
}

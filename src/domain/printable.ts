/**
 * What a reader does not see, or sees in another place: control characters, separators of lines, marks that turn the
 * direction of the text around, and characters without a shape. An emoji may contain them, and is one picture.
 */
const EMOJI_OR_HIDDEN =
  /(\p{RGI_Emoji})|[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gv;

/**
 * Shows the hidden characters of other people's text as escapes, so that it neither steers a terminal nor looks like
 * another text. JSON stays JSON with the same values.
 */
export function printable(text: string): string {
  return text.replaceAll(EMOJI_OR_HIDDEN, (found, emoji: string | undefined) => {
    return emoji ?? found.split('').map(escaped).join('');
  });
}

function escaped(codeUnit: string): string {
  return String.raw`\u` + codeUnit.charCodeAt(0).toString(16).padStart(4, '0');
}

/** Texts of the list of keyboard shortcuts. */
export const shortcuts = {
  title: 'Keyboard shortcuts',
  everywhere: 'Everywhere',
  search: 'Search',
  runs: 'List of runs',
  rows: 'Next and previous row',
  select: 'Select the row',
  open: 'Open the row',
  run: 'Page of a run',
  steps: 'Next and previous step',
  inbox: 'The inbox has keys of its own: press ? there.',
};

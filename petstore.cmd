@node "%~dp0bin\petstore.cjs" %*
